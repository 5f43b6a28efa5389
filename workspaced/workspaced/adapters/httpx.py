"""Transports that put context into the requests of any client of a provider that takes a client of httpx2:

    client = OpenAI(http_client=DefaultHttpxClient(transport=ContextTransport("my-agent")))

The request is the client's to the byte, but for what is inserted. Nothing that the agent keeps holds the context.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import httpx2
from anyio import CancelScope, to_thread

from ..overlay.asking import form_of
from ..overlay.request import Form
from .overlaying import Overlay, Overlaying

_OWN: Final = {b"content-length", b"transfer-encoding", b"accept-encoding"}
"""Headers that do not hold for the body with context, or would leave its usage unread."""


class ContextTransport(httpx2.BaseTransport):
    """Sends requests through another transport; those that hold a chat get context."""

    def __init__(
        self, name: str = "httpx", *, transport: httpx2.BaseTransport | None = None, **options: Any
    ) -> None:
        """
        Args:
            name, options: as `Overlaying`.
            transport: default: `httpx2.HTTPTransport()`.
        """
        self._transport = httpx2.HTTPTransport() if transport is None else transport
        self._overlaying = Overlaying(name, **options)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        form, path = _asked(request)
        overlay = self._overlaying.overlay(form, path, request.read()) if form is not None else None
        if overlay is None:
            return self._transport.handle_request(request)
        response = self._transport.handle_request(_with_body(request, overlay.body))
        overlay.answered(response.status_code, response.headers)
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.stream = _Stream(response.stream, overlay)
        return response

    def close(self) -> None:
        self._transport.close()


class AsyncContextTransport(httpx2.AsyncBaseTransport):
    """As `ContextTransport`, for asynchronous clients. The event loop does not wait for the daemon."""

    def __init__(
        self, name: str = "httpx", *, transport: httpx2.AsyncBaseTransport | None = None, **options: Any
    ) -> None:
        """As `ContextTransport`; `transport` is `httpx2.AsyncHTTPTransport()` by default."""
        self._transport = httpx2.AsyncHTTPTransport() if transport is None else transport
        self._overlaying = Overlaying(name, **options)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        form, path = _asked(request)
        overlay = None
        if form is not None:
            body = await request.aread()
            overlay = await to_thread.run_sync(self._overlaying.overlay, form, path, body, abandon_on_cancel=True)
        if overlay is None:
            return await self._transport.handle_async_request(request)
        response = await self._transport.handle_async_request(_with_body(request, overlay.body))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        try:
            await to_thread.run_sync(overlay.answered, response.status_code, response.headers)
        except BaseException:  # cancelled: nobody else knows of the answer
            with CancelScope(shield=True):
                await response.stream.aclose()
            raise
        response.stream = _Stream(response.stream, overlay)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


def _asked(request: httpx2.Request) -> tuple[Form | None, bytes]:
    """The form of a request, None if it takes no context, and its path."""
    path = request.url.raw_path.partition(b"?")[0]
    is_signed = request.headers.get("authorization", "").startswith("AWS4-")
    takes = request.method == "POST" and "content-encoding" not in request.headers and not is_signed
    return form_of(path) if takes else None, path


def _with_body(request: httpx2.Request, body: bytes) -> httpx2.Request:
    headers = [each for each in request.headers.raw if each[0].lower() not in _OWN]
    return httpx2.Request(
        *(request.method, request.url),
        headers=[*headers, (b"accept-encoding", b"identity")],
        content=body,
        extensions=request.extensions,
    )


class _Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """An answer as it passes, read in the way of its transport."""

    def __init__(self, stream: Any, overlay: Overlay) -> None:
        self._stream = stream
        self._overlay = overlay

    def __iter__(self) -> Iterator[bytes]:
        for data in self._stream:
            self._overlay.feed(data)
            yield data

    def close(self) -> None:
        self._stream.close()
        self._overlay.finish()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._overlay.feed(data)
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
        await to_thread.run_sync(self._overlay.finish)
