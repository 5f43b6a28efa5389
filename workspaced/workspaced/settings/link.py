"""`[link]` in config.toml: how this daemon reaches the server that carries messages between machines."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class TlsSettings(BaseModel):
    """Certificates; without them those of the system are trusted, and none is shown."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    authorities: Path | None = None
    """A PEM file of the authorities to trust instead of the system's."""
    certificate: Path | None = None
    """A PEM file with the certificate by which the server knows this daemon."""
    key: Path | None = None
    """Its private key; None: it is in the file of the certificate."""


class LinkSettings(BaseModel):
    """How the daemon reaches the server. What the link is, and who takes part, is in the data directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: tuple[Annotated[str, Field(pattern=r"^(nats|tls)://[^\s/]+$")], ...] = ()
    """`nats://HOST:PORT` or `tls://HOST:PORT`, all of a cluster, tried in any order."""
    credentials: Path | None = None
    """A file with a NATS `.creds`, an nkey seed, `USER:PASSWORD` or a token; read at each connection."""
    tls: TlsSettings | None = None
    replicate_selection_text: bool = False
    """Whether the text that is selected is shared too; its lines are."""
