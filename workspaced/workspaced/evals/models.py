"""Asks models what they answer to a request of chat completions; tools answer by a function.

Whatever goes wrong with one model is a state of its answer: the others are asked all the same.
"""

import os
import time
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import httpx2
import msgspec

from workspaced_events.errors import InvalidArgument

Json = dict[str, Any]
State = Literal[
    "answered", "cut_off", "no_answer", "silent", "rate_limited", "refused", "unreachable", "unreadable"
]
"""`cut_off`: by the limit of tokens, a filter or the connection. `no_answer`: it said nothing, or went on
calling tools. `silent`: it took too long."""
KEY: Final = "OPENAI_API_KEY"
"""The variable of the environment that holds the key; it is in no file and no answer."""
ROUNDS_MAX: Final = 8
"""So often a model may call tools before it answers."""
_ERROR_CHARS: Final = 300
_ANSWER_BYTES_MAX: Final = 32 * 1024 * 1024


class Called(msgspec.Struct, frozen=True):
    """A call of a tool by the model."""

    tool: str
    arguments: Json
    recorded: bool
    """Whether it was answered from the log."""


class Answer(msgspec.Struct, rename="camel"):
    """What came of asking one model."""

    model: str
    state: State = "answered"
    text: str = ""
    why: str = ""
    """Of a state that is not `answered`: what happened, and what to do."""
    calls: list[Called] = []
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """In the currency of the list of prices; None: the model is not in it."""
    verdict: Literal["right", "wrong", "unknown"] | None = None
    """Of the check; `unknown`: it could not tell, or failed, as `why` says. None: there was none."""


class _Function(msgspec.Struct):
    name: str
    arguments: str | None = None


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class _Details(msgspec.Struct):
    cached_tokens: _Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None
    prompt_tokens_details: _Details | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class _Failed(Exception):
    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state = state
        self.why = why


class Models:
    """The models below a base URL, such as https://api.openai.com/v1 or that of a server on this machine.

    Whatever goes wrong with one model is a state of its answer: the others are asked all the same.
    """

    def __init__(self, base_url: str, *, timeout_s: float) -> None:
        """
        Args:
            timeout_s: how long a model may take.

        Raises:
            InvalidArgument: it is no URL of HTTP.
        """
        try:
            url = httpx2.URL(base_url)
            is_http = url.scheme in {"http", "https"} and url.host != ""
        except httpx2.InvalidURL:
            is_http = False
        if not is_http:
            raise InvalidArgument(
                f"{base_url[:200]!r} is no URL of HTTP.",
                hint="Give a base URL as SDKs take it, which ends in /v1.",
            )
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._timeout_s = timeout_s

    def ask(self, model: str, body: Json, recorded: Callable[[str, Json], str | None]) -> Answer:
        """The model's answer.

        Args:
            body: a request of chat completions; its model does not matter.
            recorded: what a tool answered to such arguments; None: it was never asked.
        """
        answer = Answer(model)
        messages = [*body["messages"]]
        key = os.environ.get(KEY)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        try:
            with httpx2.Client(timeout=self._timeout_s, headers=headers) as client:
                for _round in range(ROUNDS_MAX):
                    made = self._completion(client, {**body, "model": model, "messages": messages}, answer)
                    if not (calls := made.message.tool_calls or []):
                        answer.text = made.message.content or ""
                        if made.finish_reason in _CUT_OFF:
                            raise _Failed("cut_off", _CUT_OFF[made.finish_reason])
                        if not answer.text.strip():
                            declined = made.message.refusal
                            raise _Failed(
                                "no_answer", f"It declines: {declined}" if declined else "It says nothing."
                            )
                        return answer
                    messages += [
                        _said(made.message, calls),
                        *(_answered(each, recorded, answer) for each in calls),
                    ]
            raise _Failed("no_answer", f"It called tools in {ROUNDS_MAX} rounds, and gave no answer.")
        except _Failed as failed:
            answer.state, answer.why = failed.state, failed.why
        return answer

    def _completion(self, client: httpx2.Client, body: Json, answer: Answer) -> _Choice:
        response, content = self._posted(client, body)
        if response.status_code == httpx2.codes.TOO_MANY_REQUESTS:
            after = response.headers.get("retry-after", "")
            raise _Failed("rate_limited", f"The provider asks to wait{f' {after[:20]} s' if after else ''} (429).")
        if response.status_code != httpx2.codes.OK:
            said = content.decode(errors="replace")[:_ERROR_CHARS].strip() or "nothing"
            hint = _HINTS.get(response.status_code, "")
            raise _Failed("refused", f"The provider answers {response.status_code}: {said}.{hint}")
        try:
            made = msgspec.json.decode(content, type=_Completion)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise _Failed("unreadable", f"The answer is no chat completion: {error}.") from None
        if not made.choices:
            raise _Failed("unreadable", "The answer is no chat completion: it has no choices.")
        if (usage := made.usage) is not None:
            answer.input_tokens += usage.prompt_tokens or 0
            answer.output_tokens += usage.completion_tokens or 0
            details = usage.prompt_tokens_details
            answer.cached_tokens += (details.cached_tokens or 0) if details is not None else 0
        return made.choices[0]

    def _posted(self, client: httpx2.Client, body: Json) -> tuple[httpx2.Response, bytes]:
        """The response and its content. The time limit is of all of it: httpx's own is of each silence."""
        response, content, until = None, bytearray(), time.monotonic() + self._timeout_s
        try:
            with client.stream("POST", self._url, content=msgspec.json.encode(body), headers=_JSON) as response:
                for part in response.iter_bytes():
                    content += part
                    if len(content) > _ANSWER_BYTES_MAX:
                        raise _Failed("unreadable", f"The answer has more than {_ANSWER_BYTES_MAX:,} bytes.")
                    if time.monotonic() > until:
                        raise httpx2.ReadTimeout("some of it came")
        except httpx2.TimeoutException:
            raise _Failed(
                "silent", f"It gave no whole answer within {self._timeout_s:g} s; give it more with --timeout."
            ) from None
        except httpx2.DecodingError as error:
            raise _Failed("unreadable", f"The answer cannot be unpacked: {error}.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            said = str(error) or type(error).__name__
            if response is not None:
                raise _Failed("cut_off", f"The connection ended within the answer: {said}.") from None
            raise _Failed("unreachable", f"{self._url} cannot be reached: {said}. Is --base-url right?") from None
        return response, bytes(content)


_CUT_OFF: Final = {
    "length": "The answer ends at the limit of its tokens.",
    "content_filter": "The provider's filter ended the answer.",
}
_HINTS: Final[dict[int, str]] = {
    httpx2.codes.UNAUTHORIZED: f" Is {KEY} set?",
    httpx2.codes.NOT_FOUND: " Are the model's name and --base-url right? /chat/completions is added to it.",
}
_JSON: Final = {"content-type": "application/json"}


def _said(message: _Message, calls: list[_Call]) -> Json:
    made = [
        {"id": each.id, "type": "function", "function": {"name": of.name, "arguments": of.arguments or "{}"}}
        for each in calls
        for of in (each.function,)
    ]
    return {"role": "assistant", **({"content": message.content} if message.content else {}), "tool_calls": made}


def _answered(call: _Call, recorded: Callable[[str, Json], str | None], answer: Answer) -> Json:
    try:
        arguments = msgspec.json.decode((call.function.arguments or "{}").encode(), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _Failed(
            "unreadable", f"Its call of {call.function.name} has no arguments in JSON: {error}."
        ) from None
    found = recorded(call.function.name, arguments)
    answer.calls.append(Called(call.function.name, arguments, found is not None))
    return {"role": "tool", "tool_call_id": call.id, "content": _NOT_RECORDED if found is None else found}


_NOT_RECORDED: Final = msgspec.json.encode(
    {"success": False, "code": "NOT_RECORDED", "error": "This was not asked when the log was recorded."}
).decode()
