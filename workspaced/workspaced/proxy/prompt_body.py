"""Requests to providers: which of them hold a prompt, and where. Pure.

A body is decoded one level deep, so that every field but the prompt's own goes on byte for byte.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from workspaced_events.schema.nesting import is_deeper

from ..limits import JSON_DEPTH_MAX

Fields = dict[str, msgspec.Raw]
_FIELDS: Final = msgspec.json.Decoder(Fields)
_NULL: Final = b"null"


class Form(NamedTuple):
    """Where a provider's request has its prompt."""

    name: str
    """As `workspaced/context/transform` calls it."""
    paths: tuple[bytes, ...]
    """The ends of the paths of such requests."""
    messages: str
    systems: tuple[str, ...] = ()
    """The names of the system prompt, the usual one first; none: it is among the messages."""
    continues: tuple[str, ...] = ()
    """Fields that name a history kept by the provider, which we do not see."""


FORMS: Final = (
    Form("openai", (b"/chat/completions",), "messages"),
    Form(
        "responses",
        (b"/responses",),
        "input",
        ("instructions",),
        ("previous_response_id", "conversation", "prompt"),
    ),
    Form("anthropic", (b"/messages",), "messages", ("system",)),
    Form(
        "gemini",
        (b":generateContent", b":streamGenerateContent"),
        "contents",
        ("systemInstruction", "system_instruction"),
        ("cachedContent", "cached_content"),
    ),
)


class NoPrompt(Exception):
    """The request has no prompt that context could be put into: a code, and why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def form_of(method: str, path: bytes) -> Form:
    """The form of the prompts that are sent to that path.

    Raises:
        NoPrompt: no prompts are sent there.
    """
    form = next((form for form in FORMS if path.endswith(form.paths)), None)
    if form is None or method != "POST":
        raise NoPrompt("NOT_A_PROMPT", "requests to this path hold no prompt")
    return form


class Prompt:
    """A request's body with a prompt in it."""

    def __init__(self, form: Form, body: bytes, path: bytes) -> None:
        """
        Args:
            path: names the model, if the form is Gemini's.

        Raises:
            NoPrompt: the body holds none, or one that goes on with what the provider keeps.
        """
        self.form = form
        self._path = path
        try:
            body.decode()  # Raw does not look into texts
            self._fields = _FIELDS.decode(body)
        except (UnicodeDecodeError, msgspec.MsgspecError):
            raise NoPrompt("NOT_JSON", "the body is no JSON object") from None
        if is_deeper(body, JSON_DEPTH_MAX - 1):  # it stands one deeper in the request to the daemon
            raise NoPrompt("TOO_DEEP", f"the body is nested deeper than {JSON_DEPTH_MAX - 1}")
        for name in form.continues:
            if self._given(name) is not None:
                raise NoPrompt("KEPT_BY_PROVIDER", f"{name} names a history that the provider keeps")
        self._system = next((name for name in form.systems if name in self._fields), "")
        self._messages = self._list_of_messages()

    def _given(self, name: str) -> bytes | None:
        """The JSON of a field on one line; None if it is null or missing."""
        field = self._fields.get(name)
        if field is None or (raw := bytes(field)) == _NULL:
            return None
        return raw.replace(b"\n", b" ").replace(b"\r", b" ")  # line ends stand between values only

    def _list_of_messages(self) -> bytes:
        given = self._given(self.form.messages)
        if given is not None and given.startswith(b"["):
            return given
        if given is not None and given.startswith(b'"') and self.form.name == "responses":
            return b'[{"role":"user","content":' + given + b"}]"
        raise NoPrompt("NOT_A_PROMPT", f"the body has no list of {self.form.messages}")

    @property
    def messages(self) -> bytes:
        """Their list, as JSON."""
        return self._messages

    def params(self) -> dict[str, Any]:
        """All that `workspaced/context/transform` takes of the request, but the messages."""
        params: dict[str, Any] = {"form": self.form.name}
        for name, field in (("system", self._system), ("tools", "tools"), ("model", "model")):
            if (given := self._given(field)) is not None:
                params[name] = msgspec.Raw(given)
        if self.form.name == "gemini":
            model = self._path.rpartition(b"/")[2].partition(b":")[0]
            params["model"] = model.decode("ascii", "replace")
        return params

    def body_with(self, messages: Any, system: Any) -> bytes:
        """The body with another prompt: every other field as it came."""
        fields: dict[str, Any] = {**self._fields}
        if "cache_control" in self._fields and self.form.name == "anthropic":
            messages = _without_last_mark(messages)
        fields[self.form.messages] = messages
        if self.form.systems:
            name = self._system or self.form.systems[0]
            fields.pop(name, None) if system is None else fields.update({name: system})
        return msgspec.json.encode(fields)


def _without_last_mark(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of a request that has the provider mark its end: the provider takes no mark of ours beside that."""
    last = messages[-1] if messages else {}
    content = last.get("content")
    if not isinstance(content, list) or not content or not isinstance(content[-1], Mapping):
        return messages
    block = {name: value for name, value in content[-1].items() if name != "cache_control"}
    return [*messages[:-1], {**last, "content": [*content[:-1], block]}]
