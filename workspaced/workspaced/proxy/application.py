"""The proxy's life: its port, its server, its connection to the daemon, and its end.

In between each request is checked, given its context and sent on, and its answer passed back as it comes.
"""

import logging
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import anyio
import httpx2
from anyio import to_thread

from workspaced_events.errors import WorkspacedError

from ..overlay.asking import form_of, overlaid, params_of
from ..overlay.json_places import Unreadable
from ..overlay.request import Form, read_request
from ..overlay.usage import UsageReader, usage_reader
from ..web.loopback_server import HOST, LoopbackServer, listening, silence_logs
from .access import Access, Refusal
from .daemon_link import DaemonLink
from .upstream import Content, Headers, Upstream, end_to_end

_PROXY_REASON_CHARS_MAX: Final = 300
_PROXY_READ_AT_ONCE_BYTES: Final = 262_144
"""Longer bodies are read on a thread of their own."""
OFF: Final = "off"
_SUBAGENTS: Final = (b"x-claude-code-agent-id", b"x-codex-parent-thread-id")
"""Which headers Claude Code and Codex send for a helper of theirs."""


class NoPrompt(Exception):
    """Nothing can be put into the request: a code, and why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Outcome(NamedTuple):
    """What became of a request, for the headers of the answer."""

    context: str
    """`added`, `off` or `unchanged`."""
    reason: str = ""
    """A code and why, if it is unchanged."""
    form: Form = "openai"
    token: str = ""
    """Names the insertions to the daemon, also those that the provider holds; empty: there are none."""
    body_sha256: str = ""
    """Of the body with them."""

    def headers(self) -> Headers:
        """Without what is empty."""
        named = {b"x-workspaced-context": self.context, b"x-workspaced-reason": _one_line(self.reason)}
        return [(name, value.encode("ascii", "replace")) for name, value in named.items() if value]


def unchanged(code: str, message: str) -> Outcome:
    """Of a request that goes on as it came."""
    return Outcome("unchanged", f"{code}: {message}")


def _one_line(text: str) -> str:
    plain = "".join(each if each.isascii() and each.isprintable() else "?" for each in text)
    return plain[:_PROXY_REASON_CHARS_MAX].strip()  # no header ends in a blank


def form_of_prompt(method: str, path: bytes, headers: dict[bytes, bytes]) -> Form:
    """The form of a request.

    Raises:
        NoPrompt: it holds no chat, or one that takes no context.
    """
    form = form_of(path)
    if form is None or method != "POST":
        raise NoPrompt("NOT_A_PROMPT", "requests to this path hold no prompt")
    if any(each in headers for each in _SUBAGENTS):
        raise NoPrompt("SUBAGENT", "it is of an agent's helper")
    return form


async def with_context(daemon: DaemonLink, form: Form, path: bytes, body: bytes) -> tuple[bytes, Outcome]:
    """The body to send, which is the client's own bytes and what is inserted, and what became of it."""
    try:
        if len(body) <= _PROXY_READ_AT_ONCE_BYTES:
            request = read_request(form, body)
        else:  # on a thread: other requests would wait, and think that the daemon does not answer
            request = await to_thread.run_sync(read_request, form, body)
        answer = await daemon.call(params_of(request, path))
        made = overlaid(request, body, answer)
    except Unreadable as error:
        return body, unchanged("UNREADABLE", str(error))
    except WorkspacedError as error:
        return body, unchanged(error.code, str(error))
    except Exception as error:  # a defect of ours: the runtime is not to suffer from it
        logger.exception("a request could not be given its context")
        return body, unchanged("INTERNAL", f"{type(error).__name__}, see the proxy's log")
    if answer["token"] is None and request.is_told:
        return body, unchanged("TOLD", "a text of workspaced stands in the user's words already, such as a hook's")
    told = Outcome("added") if answer["insertions"] else unchanged("NOTHING_NEW", answer["reason"] or "nothingNew")
    if answer["token"] is None:
        return body, told
    return made, told._replace(form=form, token=answer["token"], body_sha256=sha256(made).hexdigest())


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
_PROXY_BODY_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of a request that gets context: as long as the longest that Anthropic takes."""
_TRACEPARENT_BYTES_MAX: Final = 512
logger = logging.getLogger(__name__)

Send = Callable[[Message], Awaitable[None]]
Scope = Message
_ANY_ENCODING: Final = (b"", b"identity")
_EXPECTED: Final = ("NOT_A_PROMPT", "NOTHING_NEW", "SUBAGENT", "TOLD")
"""Reasons for which a request has no context that nobody needs to be told of."""
_NO_TUNNEL: Final = Refusal(
    405,
    "NO_TUNNEL",
    "This proxy makes no tunnels (CONNECT): it could not see the prompts in them.",
    "Use the URL that `workspaced proxy` prints as the provider's base URL, not as an HTTP proxy.",
)
_TAKEN_HINT: Final = "Does a proxy run there already? Give another --port; 0 takes any."


class ClientLeft(Exception):
    """The client closed its connection before it had sent the whole body."""


class RequestBody:
    """Reads a request's body from ASGI, each byte once."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = bytearray()
        """What was read ahead."""
        self._ended = anyio.Event()

    async def up_to(self, bound: int) -> bytes | None:
        """The whole body; None if it is longer than `bound` bytes: `parts` then has all of it.

        Raises:
            ClientLeft: it did not come to its end.
        """
        while not self._ended.is_set() and len(self._read) <= bound:
            self._read += await self._next()
        return bytes(self._read) if len(self._read) <= bound else None

    async def parts(self) -> AsyncIterator[bytes]:
        """The body from its beginning, as it comes.

        Raises:
            ClientLeft: it did not come to its end.
        """
        if self._read:
            yield bytes(self._read)
            self._read.clear()
        while not self._ended.is_set():
            yield await self._next()

    async def cancel_when_left(self, scope: anyio.CancelScope) -> None:
        """Cancels when the client closes its connection, after it has sent the whole body."""
        await self._ended.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        if not message.get("more_body", False):
            self._ended.set()
        data: bytes = message.get("body", b"")
        return data


class _Passage:
    """What passed of a prompt and its answer, kept although the client leaves."""

    def __init__(self) -> None:
        self.outcome: Outcome | None = None
        self.traceparent: str | None = None
        self.usage: UsageReader | None = None
        self.has_left = anyio.Event()
        """Set once the provider has taken the prompt."""

    async def confirm(self, daemon: DaemonLink) -> None:
        """Tells the daemon that the prompt has left, while its answer passes."""
        await self.has_left.wait()
        assert self.outcome is not None, "it has left"
        with anyio.CancelScope(shield=True):
            params: dict[str, Any] = {"token": self.outcome.token, "bodySha256": self.outcome.body_sha256}
            if self.traceparent is not None:
                params["traceparent"] = self.traceparent
            await daemon.tell("confirm", params)

    async def finish(self, daemon: DaemonLink) -> None:
        """Tells the daemon what the provider said of its usage, so far, and by which name it holds the chat."""
        told = self.usage.told() if self.usage is not None else None
        if self.outcome is not None and told is not None:
            params = {"token": self.outcome.token, "form": self.outcome.form, **told}
            await daemon.tell("finished", params)


class Application:
    """The proxy as an ASGI application."""

    def __init__(self, access: Access, upstream: Upstream, daemon: DaemonLink) -> None:
        self._access = access
        self._upstream = upstream
        self._daemon = daemon
        self._without_context: Counter[str] = Counter()
        """How many requests went on without context, by the code of the reason."""
        self._untold: Counter[str] = Counter()
        """Those of them that the daemon does not know of yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request. If the provider's answer breaks off, ours does too: nothing says that it ended."""
        try:
            if scope["method"] == "CONNECT":
                raise _NO_TUNNEL
            path = self._access.path_behind(scope["raw_path"], scope["query_string"], scope["headers"])
        except Refusal as refusal:
            await _refuse(send, refusal, [])
            return
        body, passage = RequestBody(receive), _Passage()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(body.cancel_when_left, tasks.cancel_scope)
                tasks.start_soon(passage.confirm, self._daemon)
                with suppress(ClientLeft, httpx2.HTTPError):  # closes the connection: the answer has no end
                    await self._pass_on(scope, path, body, send, passage)
                tasks.cancel_scope.cancel()
        except Exception:
            logger.exception("a request could not be passed on")
            raise
        finally:
            await passage.finish(self._daemon)
        await self._tell_unchanged()

    async def _tell_unchanged(self) -> None:
        """Tells the daemon how many requests went on without context; if it is not there, after a later one."""
        if not (told := self._untold):
            return
        self._untold = Counter()
        try:
            reasons = [{"code": code, "count": count} for code, count in told.items()]
            await self._daemon.call({"reasons": reasons}, "/unchanged")
        except WorkspacedError:
            self._untold.update(told)

    async def _pass_on(self, scope: Scope, path: bytes, body: RequestBody, send: Send, passage: _Passage) -> None:
        headers_out, content, outcome = await self._outgoing(scope, path, body)
        passage.outcome = outcome
        # Of several such headers, which W3C forbids, all of them, and so nonsense.
        span = b",".join(value for name, value in scope["headers"] if name == b"traceparent")
        passage.traceparent = span[:_TRACEPARENT_BYTES_MAX].decode("latin-1") or None
        self._count(outcome)
        method, query = scope["method"], scope["query_string"]
        own = outcome.headers()
        try:
            async with self._upstream.answer(method, path, query, headers_out, content) as response:
                headers = [*end_to_end(response.headers.raw), *own]
                await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
                usage = usage_reader(response.status_code, response.headers) if outcome.token else None
                passage.usage = usage
                if outcome.token and response.status_code < HTTPStatus.BAD_REQUEST:
                    passage.has_left.set()
                async for data in response.aiter_raw():
                    if usage is not None:
                        usage.feed(data)
                        self._daemon.will_tell(usage.response_id)
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                if usage is not None:
                    usage.told()  # reads an answer that is no stream
                    self._daemon.will_tell(usage.response_id)
                await send({"type": "http.response.body", "body": b""})
        except Refusal as refusal:
            await _refuse(send, refusal, own)

    def _count(self, outcome: Outcome) -> None:
        code = outcome.reason.partition(":")[0]
        if not code or code in _EXPECTED:
            return
        self._without_context[code] += 1
        self._untold[code] += 1
        count = self._without_context[code]
        if count == 10 ** (len(str(count)) - 1):
            logger.warning("requests without context so far: %d, the last for %s", count, outcome.reason)

    async def _outgoing(self, scope: Scope, path: bytes, body: RequestBody) -> tuple[Headers, Content, Outcome]:
        """The headers and the body that go to the provider, and what became of the request."""
        headers: Headers = scope["headers"]
        given = dict(headers)
        has_body = b"content-length" in given or b"transfer-encoding" in given
        as_it_came = body.parts() if has_body else None
        if not has_body:
            await body.up_to(0)  # its end
        if given.get(b"x-workspaced", b"").strip().lower() == OFF.encode():
            return headers, as_it_came, Outcome(OFF)
        try:
            form = form_of_prompt(scope["method"], path, given)
            whole = await _whole(given, body)
        except NoPrompt as error:
            return headers, as_it_came, unchanged(error.code, error.message)
        content, outcome = await with_context(self._daemon, form, path, whole)
        headers = [each for each in headers if each[0] not in {b"content-length", b"transfer-encoding"}]
        if outcome.token:  # its usage is to be read
            headers = [
                *(each for each in headers if each[0] != b"accept-encoding"),
                (b"accept-encoding", b"identity"),
            ]
        return [*headers, (b"content-length", b"%d" % len(content))], content, outcome


async def _whole(headers: dict[bytes, bytes], body: RequestBody) -> bytes:
    """
    Raises:
        NoPrompt: it is compressed, or too long.
    """
    if headers.get(b"content-encoding", b"").strip().lower() not in _ANY_ENCODING:
        raise NoPrompt("COMPRESSED", "the body is compressed")
    length = b"0" if b"transfer-encoding" in headers else headers.get(b"content-length", b"0")
    is_short = len(length) < 16 and int(length) <= _PROXY_BODY_BYTES_MAX
    whole = await body.up_to(_PROXY_BODY_BYTES_MAX) if is_short else None
    if whole is None:
        raise NoPrompt("BODY_TOO_LARGE", f"the body is longer than {_PROXY_BODY_BYTES_MAX} bytes")
    return whole


async def _refuse(send: Send, refusal: Refusal, headers: Headers) -> None:
    body = refusal.body
    own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": refusal.status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


Ready = Callable[[str, str, str], None]
"""Told that requests are taken: the URL that takes the place of the upstream's, the upstream's, and why requests
get no context at present; empty: they do."""


def run_proxy(upstream: Upstream, port: int, token: str, daemon: partial[DaemonLink], ready: Ready) -> int:
    """Serves until SIGINT or SIGTERM; returns the exit code.

    Args:
        port: 0: any.
        daemon: makes the link to the daemon, on the loop.

    Raises:
        WorkspacedError: PORT_TAKEN: another program listens on the port.
    """
    silence_logs("httpx2", "httpcore2")
    with listening(port, _TAKEN_HINT) as sockets:
        return anyio.run(_serve, upstream, token, daemon, sockets, ready)


async def _serve(
    upstream: Upstream, token: str, make: partial[DaemonLink], sockets: list[socket.socket], ready: Ready
) -> int:
    port: int = sockets[0].getsockname()[1]
    daemon = make()
    application = Application(Access(token, port), upstream, daemon)

    def started() -> None:
        failure = daemon.failure
        url = f"http://{HOST}:{port}/t/{token}"
        ready(url, upstream.url, failure.message if failure is not None else "")

    server = LoopbackServer(application, started)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(daemon.keep_connected)
        await daemon.tried.wait()
        await server.serve(sockets=sockets)
        await upstream.aclose()
        tasks.cancel_scope.cancel()
    return server.exit_code
