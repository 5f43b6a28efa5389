"""A role, as the settings or a note's front matter give it. Imports little: every command reads the settings."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from workspaced_events.schema.conversation_events import ProviderKind

from ..limits import CONTEXT_NAME_CHARS_MAX, PINS_PER_CONVERSATION_MAX, ROLE_SYSTEM_CHARS_MAX

_ROLE_TOOLS_MAX: Final = 100
Source = Literal["settings", "note"]
Name = Annotated[str, Field(min_length=1, max_length=CONTEXT_NAME_CHARS_MAX)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RolePin(_Part):
    """A pin as `workspaced/context/pin` takes it, without an id. A text is a kind without parameters."""

    kind: ProviderKind
    path: str | None = None
    folder: str | None = None
    text: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_kind(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Role(_Part):
    """What a conversation begins with that names this role."""

    system: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=ROLE_SYSTEM_CHARS_MAX)
    ]
    tools: Annotated[tuple[Name, ...], Field(max_length=_ROLE_TOOLS_MAX)] | None = None
    """Names of our tools; None: the role says nothing of tools."""
    pins: Annotated[tuple[RolePin, ...], Field(max_length=PINS_PER_CONVERSATION_MAX)] = ()
