"""`[traces]` in config.toml: where a daemon sends the spans of what it records."""

from importlib.util import find_spec
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from ..errors import PackageMissing


def checked_url(url: str) -> str:
    """The URL of a receiver.

    Raises:
        ValueError: it is none.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(
            f"Expected the URL of an OTLP/HTTP receiver, such as http://localhost:4318, got {url[:200]!r}"
        )
    if parts.username is not None or parts.password is not None:
        raise ValueError("Expected a URL without a key; OTEL_EXPORTER_OTLP_HEADERS takes it")
    return url


class TracesSettings(BaseModel):
    """Where spans are sent while the daemon runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    otlp: Annotated[str, AfterValidator(checked_url)] | None = None
    """The URL of an OTLP/HTTP receiver, such as `http://localhost:4318`; None: no spans are sent."""
    texts: bool = False
    """Whether spans have the texts of calls, but for those that name a note which is withheld."""


def check_packages(what: str) -> None:
    """
    Raises:
        PackageMissing: the extra `traces` is not installed.
    """
    for package in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            is_there = find_spec(package) is not None
        except ModuleNotFoundError:
            is_there = False
        if not is_there:
            raise PackageMissing(what, "traces")
