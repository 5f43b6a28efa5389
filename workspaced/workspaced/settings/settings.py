"""Settings: flags, then `WORKSPACED_*`, then `config.toml` in the user's config directory, then defaults."""

import os
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from workspaced_tools.limits import CACHE_BYTES_MAX

from ..errors import PackageMissing, SettingsInvalid
from ..ipc.socket_path import WORKSPACE_NAME, default_socket
from ..limits import PUBLISHER_GRACE_S
from .link import LinkSettings


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


_RECORD_DAYS_MAX: Final = 36_500.0
_RECORD_DAYS: Final = 90.0
_RECORD_BYTES: Final = 1024 * 1024 * 1024
_RECONCILE_INTERVAL_S: Final = 60.0


class Settings(BaseSettings):
    """A daemon's settings."""

    model_config = SettingsConfigDict(env_prefix="WORKSPACED_", extra="forbid", frozen=True)

    workspace: Annotated[str, Field(pattern=WORKSPACE_NAME.pattern)] = "default"
    """The workspace's name, which selects the socket and the data directory."""
    vaults: Annotated[tuple[Path, ...], NoDecode] = ()
    """Folders of Markdown; in the environment separated like PATH."""
    files: Annotated[tuple[str, ...], NoDecode] = ()
    """Globs in gitignore syntax for text files that are notes beside Markdown; in a text separated by commas."""
    gitignore: bool = True
    """Whether `.gitignore` files in the vault leave out files that `files` names."""
    deny: Annotated[tuple[str, ...], NoDecode] = ()
    """Globs in gitignore syntax for notes hidden from every agent; one a line in the environment."""
    on_request: Annotated[tuple[str, ...], NoDecode] = ()
    """As `deny`, for notes that agents are shown only when they ask for them explicitly."""
    data_dir: Path | None = None
    cache_dir: Path | None = None
    """The folder of the indexes; its content may be deleted at any time."""
    socket: Path | None = None
    record: Literal["served", "none"] = "served"
    """Whether to record what agents see, so that their calls can be replayed."""
    record_bytes: Annotated[int, Field(ge=0)] = _RECORD_BYTES
    """Limit of the recordings; beyond it the longest unused ones go."""
    record_days: Annotated[float, Field(ge=0, le=_RECORD_DAYS_MAX)] = _RECORD_DAYS
    """Days after their last use when recordings go."""
    templates: Path | None = None
    """The folder of the user's request templates, `NAME.json.jinja`; None: `templates` beside config.toml."""
    memory: Path | None = None
    """The folder that agents may write to: a name in each vault, or an absolute path beside them; None: none."""
    cache_bytes: Annotated[int, Field(ge=1024 * 1024)] = CACHE_BYTES_MAX
    reconcile_s: Annotated[float, Field(gt=0)] = _RECONCILE_INTERVAL_S
    """The interval of comparing the vault with the index, whether or not the watcher reported a change."""
    watch: bool = True
    """Whether to watch the vault; without it, changes are found when a note is read."""
    publisher_grace_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = PUBLISHER_GRACE_S
    """How long what an editor showed by snapshots stays after its last connection is gone; pins stay for good."""
    idle_exit_minutes: Annotated[float, Field(gt=0)] | None = None
    """Ends the daemon after this long without a client."""
    link: LinkSettings = LinkSettings()
    """`[link]` in config.toml, JSON in the environment: how the server of a link is reached."""
    traces: TracesSettings = TracesSettings()
    """`[traces]` in config.toml, JSON in the environment: where spans of calls and prompts are sent."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"

    @field_validator("vaults", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:
        return tuple(part for part in value.split(os.pathsep) if part) if isinstance(value, str) else value

    @field_validator("files", mode="before")
    @classmethod
    def _split_globs(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(glob for each in re.split(r"[,\n]", value) if (glob := each.strip()))

    @field_validator("deny", "on_request", mode="before")
    @classmethod
    def _split_lines(cls, value: Any) -> Any:
        return tuple(line for line in value.split("\n") if line.strip()) if isinstance(value, str) else value

    @field_validator("files", "deny", "on_request")
    @classmethod
    def _are_globs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value:
            from workspaced_tools.vault.files.glob_rules import RuleInvalid, compile_rules

            try:
                compile_rules(value)
            except RuleInvalid as error:
                wrong = value[error.details["line"] - 1]
                raise PydanticCustomError(
                    "glob", "{why} ({glob})", {"why": error.message, "glob": repr(wrong[:200])}
                ) from None
        return value

    @property
    def data_path(self) -> Path:
        """The data directory, which holds the log."""
        return self.data_dir or platformdirs.user_data_path("workspaced") / self.workspace

    @property
    def cache_path(self) -> Path:
        """The folder of the indexes: in the data directory, if that is set."""
        if self.cache_dir is not None:
            return self.cache_dir
        if self.data_dir is not None:
            return self.data_dir / "cache"
        return platformdirs.user_cache_path("workspaced") / self.workspace

    @property
    def templates_path(self) -> Path:
        """The folder of the user's request templates; it need not exist."""
        return (self.templates or config_file().parent / "templates").expanduser().absolute()

    @property
    def socket_path(self) -> Path:
        """The path of the daemon's socket."""
        return self.socket or default_socket(self.workspace)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file()))


def config_file() -> Path:
    """The settings file, whether or not it exists."""
    path = os.environ.get("WORKSPACED_CONFIG")
    return Path(path) if path else platformdirs.user_config_path("workspaced") / "config.toml"


def load_settings(**flags: Any) -> Settings:
    """Loads the settings. A flag of None counts as missing.

    The flag `workspace` selects another workspace than the settings': then their `socket`, `data_dir` and
    `cache_dir`, which belong to their own one, do not count.

    Raises:
        SettingsInvalid: a setting is unknown or invalid; names it and its source.
    """
    set_flags = {name: value for name, value in flags.items() if value is not None}
    _check_environment()
    if "workspace" in set_flags and set_flags["workspace"] != _own_workspace():
        set_flags = {**dict.fromkeys(_OF_ONE_WORKSPACE), **set_flags}
    try:
        return Settings(**set_flags)
    except tomllib.TOMLDecodeError as error:
        raise SettingsInvalid(f"{config_file()} is no TOML: {error}.", hint="Mend or remove the file.") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsInvalid(
            f"Setting {name!r}: {first['msg']}.",
            hint=f"Settings: {', '.join(Settings.model_fields)}; from flags, WORKSPACED_*, {config_file()}.",
        ) from None


_OF_ONE_WORKSPACE = ("socket", "data_dir", "cache_dir")


def _own_workspace() -> str:
    """The workspace of the environment or the settings file; the default one if they are invalid."""
    try:
        return Settings().workspace
    except (ValidationError, tomllib.TOMLDecodeError):
        return "default"


def _check_environment() -> None:
    """Refuses an unknown variable WORKSPACED_*, which pydantic would ignore."""
    known = {"WORKSPACED_CONFIG", *(f"WORKSPACED_{name.upper()}" for name in Settings.model_fields)}
    for name in sorted(os.environ):
        if name.upper().startswith("WORKSPACED_") and name.upper() not in known:
            raise SettingsInvalid(f"There is no setting {name}.", hint=f"Known: {', '.join(sorted(known))}.")
