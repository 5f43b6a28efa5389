"""One connection to one NATS server, from its handshake until it is lost. It never reconnects: who has it does.

The server and the other members of its account are not trusted. They can make us wait, refuse, and give wrong
messages, which the layers above recognise; everything of theirs that we read has a bound.
"""

import asyncio
import json
import re
import ssl
from base64 import b64decode
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.protocol.parser import Parser

from ...limits import CARRIED_BYTES_MAX, CARRIER_ANSWER_S, CARRIER_CONNECT_S
from ...settings.link import LinkSettings, TlsSettings
from ..carrier import PREFIX, STREAM, Carried, CarrierError, SubjectName
from .server_errors import NO_MESSAGE, SEE_CONFIG, away, misbehaves, not_acknowledged, server_refused

_CARRIER_PING_S: Final = 10.0
"""How often a quiet connection is asked whether it is there; lost after the second silence."""
_FRAME_BYTES_MAX: Final = 2 * CARRIED_BYTES_MAX
"""Of what the server sends at once: a message, or an answer that holds one in base64."""
_DENIED: Final = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]*)\"", re.I)


class NoTls(Exception):
    """The server offers no TLS, and the settings ask for it."""


class _BoundedParser(Parser):
    """Ends the connection when a server announces, or sends, more than any message has.

    The library reads whatever length is announced: one frame of 300 MiB took a process to 926 MB. What it cannot
    parse it only logs, and then reads no more.
    """

    nc: "_Client"

    async def parse(self, data: bytes = b"") -> None:
        try:
            await super().parse(data)
        except nats.errors.ProtocolError:
            raise
        except Exception as error:
            self.nc.misbehaves = misbehaves(f"What the server sent cannot be understood: {error!r:.200}.")
            raise nats.errors.ProtocolError from error
        if self.needed > _FRAME_BYTES_MAX or len(self.buf) > 2 * _FRAME_BYTES_MAX:
            self.reset()
            self.nc.misbehaves = misbehaves("The server sent more at once than any message has.")
            raise nats.errors.ProtocolError


class _Client(Client):
    """Refuses a `tls://` server that offers no TLS, before any credential is sent; the library would go on."""

    needs_tls = False
    misbehaves: CarrierError | None = None
    """Why the connection was ended here."""

    def __init__(self) -> None:
        super().__init__()
        self._ps = _BoundedParser(self)

    def _connect_command(self) -> bytes:
        if self.needs_tls and not self._server_info.get("tls_required"):
            raise NoTls
        return super()._connect_command()


class Connection:
    """Made by `connect`. After `lost` is set, everything that waits fails."""

    def __init__(self, link: str, report: Callable[[CarrierError], None]) -> None:
        self.client = _Client()
        self.lost = asyncio.Event()
        self._subjects = f"{PREFIX}.{link}."
        self._report = report
        self._waiting: dict[str, list[asyncio.Future[CarrierError]]] = {}
        """Requests without an answer, by subject: told when the server denies the subject."""

    def subject(self, name: SubjectName) -> str:
        """A subject of this link on the server."""
        return self._subjects + name

    def name(self, subject: str) -> SubjectName:
        """The reverse.

        Raises:
            CarrierError: SERVER_MISBEHAVES: it is not of this link.
        """
        if not subject.startswith(self._subjects):
            raise misbehaves(f"The server delivered a message of {subject[:100]!r}, which nobody asked for.")
        return subject.removeprefix(self._subjects)

    async def publish(self, name: SubjectName, data: bytes, after: int, begins: bool) -> int:
        headers = {"Nats-Expected-Stream": STREAM, "Nats-Expected-Last-Subject-Sequence": str(after)}
        if begins:
            headers["Nats-Rollup"] = "sub"
        subject = self.subject(name)
        unanswered = not_acknowledged(f"The server did not acknowledge a message within {CARRIER_ANSWER_S:g} s.")
        answer = await self._request(subject, data, headers=headers, unanswered=unanswered)
        sequence = answer.get("seq")
        if answer.get("duplicate"):
            raise CarrierError(
                "DUPLICATE", "The server took a message for a copy, and did not keep it.", "Try again."
            )
        if answer.get("stream") != STREAM or not isinstance(sequence, int) or sequence < 1:
            raise misbehaves("The server acknowledged a message without saying where it is.")
        return sequence

    async def last(self, name: SubjectName) -> Carried | None:
        """Asks the stream's leader; a replica's direct answer may be an older one."""
        try:
            answer = await self.ask(f"STREAM.MSG.GET.{STREAM}", {"last_by_subj": self.subject(name)})
        except NoMessage:
            return None
        message: Any = answer.get("message")
        try:
            data = b64decode(message.get("data", ""), validate=True)
            found = Carried(self.name(message["subject"]), int(message["seq"]), data)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise misbehaves("The server's answer has no message that can be read.") from None
        if found.subject != name or len(data) > CARRIED_BYTES_MAX:
            raise misbehaves(f"The server's last message of a subject is another's, or has {len(data)} bytes.")
        return found

    async def ask(self, what: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Asks JetStream's API.

        Raises:
            NoMessage: the subject is empty.
            CarrierError: as `Carrier` says.
        """
        unanswered = away(f"The server did not answer within {CARRIER_ANSWER_S:g} s.")
        return await self._request(f"$JS.API.{what}", json.dumps(parameters).encode(), unanswered=unanswered)

    async def close(self) -> None:
        with suppress(Exception):  # it is closed, whatever the library says
            await asyncio.wait_for(self.client.close(), 1)
        self.lost.set()

    async def _request(
        self, subject: str, data: bytes, *, headers: dict[str, str] | None = None, unanswered: CarrierError
    ) -> dict[str, Any]:
        denied: asyncio.Future[CarrierError] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(subject.lower(), []).append(denied)
        asking = asyncio.ensure_future(
            self.client.request(subject, data, timeout=CARRIER_ANSWER_S, headers=headers)
        )
        both: list[asyncio.Future[Any]] = [asking, denied]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if denied.done():
                raise denied.result()
            answer = _decoded(asking.result())
        except nats.errors.NoRespondersError:
            message = "Nothing on the server takes the message: no stream, or no JetStream."
            raise CarrierError("NO_STREAM", message, SEE_CONFIG) from None
        except nats.errors.MaxPayloadError:
            raise server_refused(
                {"err_code": 10054, "description": "the server's max_payload is smaller"}
            ) from None
        except (nats.errors.Error, OSError):
            raise unanswered from None
        finally:
            self._waiting[subject.lower()].remove(denied)
            if not self._waiting[subject.lower()]:
                del self._waiting[subject.lower()]
            asking.cancel()
            denied.cancel()
        if "error" in answer:
            if isinstance(answer["error"], dict) and answer["error"].get("err_code") == NO_MESSAGE:
                raise NoMessage
            raise server_refused(answer["error"])
        return answer

    async def error(self, error: Exception) -> None:
        """What the library reports: a denied subject is known only from here, its request just times out."""
        if (denied := _DENIED.search(str(error))) is None:
            return
        message = f"The server's permissions deny {denied[1]} to {denied[2][:200]!r}."
        refusal = CarrierError("REFUSED", message, SEE_CONFIG)
        waiting = self._waiting.get(denied[2].lower(), [])
        for each in waiting:
            if not each.done():
                each.set_result(refusal)
        if not waiting:
            self._report(refusal)


class NoMessage(Exception):
    """The subject is empty."""


async def connect(
    settings: LinkSettings, link: str, server: str, report: Callable[[CarrierError], None]
) -> Connection:
    """Connects to one server.

    Args:
        link: the random name of the link on the server, 32 hexadecimal digits.
        report: gets what the server says by itself.

    Raises:
        CarrierError: REFUSED (credentials, TLS) or AWAY; says why.
    """
    made = Connection(link, report)
    tls = settings.tls or TlsSettings()
    made.client.needs_tls = server.startswith("tls://") or bool(tls.authorities or tls.certificate)
    reasons: list[Exception] = []

    async def failed(error: Exception) -> None:
        reasons.append(error)
        await made.error(error)

    async def closed() -> None:
        made.lost.set()

    try:
        async with asyncio.timeout(CARRIER_CONNECT_S):
            await made.client.connect(
                [server],
                error_cb=failed,
                closed_cb=closed,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=int(CARRIER_CONNECT_S),
                ping_interval=int(_CARRIER_PING_S),
                max_outstanding_pings=1,
                **_credentials(settings, tls),
            )
    except (nats.errors.Error, NoTls, OSError, ValueError, TimeoutError) as error:
        await made.close()
        raise _not_connected(server, reasons[-1] if reasons else error) from None
    except BaseException:
        with anyio.CancelScope(shield=True):
            await made.close()
        raise
    reasons.clear()
    made.client._error_cb = made.error
    return made


def _credentials(settings: LinkSettings, tls: TlsSettings) -> dict[str, Any]:
    """The file is read anew for each connection, so that credentials can be replaced."""
    given: dict[str, Any] = {}
    if settings.credentials is not None:
        file = settings.credentials.expanduser()
        text = file.read_text("utf-8").strip()
        if "BEGIN NATS USER JWT" in text:
            given["user_credentials"] = file
        elif re.fullmatch("SU[A-Z2-7]{56}", text):
            given["nkeys_seed_str"] = text
        elif ":" in text:
            given["user"], given["password"] = text.split(":", 1)
        else:
            given["token"] = text
    if tls.authorities or tls.certificate:
        context = ssl.create_default_context(cafile=tls.authorities and tls.authorities.expanduser())
        if tls.certificate:
            context.load_cert_chain(tls.certificate.expanduser(), tls.key and tls.key.expanduser())
        given["tls"] = context
    return given


def _not_connected(server: str, error: Exception) -> CarrierError:
    host = server.rsplit("@", 1)[-1].removeprefix("nats://").removeprefix("tls://")
    text = str(error).strip() or type(error).__name__
    if isinstance(error, NoTls):
        return CarrierError(
            "REFUSED", f"{host} offers no TLS.", "Give it a certificate, or use nats:// in a network of your own."
        )
    if isinstance(error, ssl.SSLError):
        return CarrierError(
            "REFUSED", f"{host} has no certificate to trust: {text}.", "Set `[link.tls] authorities`."
        )
    if isinstance(error, FileNotFoundError | PermissionError | UnicodeDecodeError):
        return CarrierError("REFUSED", f"A file of the settings cannot be read: {text}.", "Correct `[link]`.")
    if "authorization" in text.lower() or "authentication" in text.lower():
        return CarrierError("REFUSED", f"{host} refuses the credentials: {text}.", "Correct `[link] credentials`.")
    return away(f"{host} cannot be reached: {text}.")


def _decoded(message: Msg) -> dict[str, Any]:
    try:
        answer = json.loads(message.data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise misbehaves("The server's answer is no JSON object.")
    return answer
