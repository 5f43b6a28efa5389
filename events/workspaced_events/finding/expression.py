"""Expressions over a state. They see the JSON that `workspaced replay --json` prints: `to_json(state)`."""

from typing import Any, Final

import jmespath
import msgspec
from jmespath.exceptions import ArityError, JMESPathError, UnknownFunctionError
from jmespath.functions import Functions
from jmespath.lexer import Lexer
from jmespath.visitor import TreeInterpreter

from ..errors import InvalidArgument
from ..ids import VaultId
from ..projections.workspace_state import StateJson, VaultState, WorkspaceState, to_json

EXPRESSION_CHARS_MAX: Final = 10_000
_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(StateJson))
_OF_WORKSPACE: Final = {
    "seq": ("seq",),
    "currentVaultId": ("current",),
    "vaults": ("vaults",),
    "sharing": ("sharing",),
    "volunteering": ("volunteering",),
}
_OF_VAULT: Final = {
    "activeNote": ("active",),
    "activeTabId": ("active", "tabs"),
    "pinnedNotes": ("pins",),
    "temporaryTabs": ("tabs",),
    "recentNotes": ("recents",),
    "selection": ("selection",),
    "archived": ("archived",),
    "lastUpdated": ("last_updated",),
}
"""For each JSON field, the fields of `WorkspaceState` or `VaultState` it is made of."""
_FIRST_IN_SCOPE: Final = frozenset(
    ("subexpression", "index_expression", "pipe", "projection", "value_projection", "filter_projection")
)


class Expression:
    """A JMESPath expression, true as JMESPath defines it (not null, false, "", [] or {}).

    A state in which the expression cannot be evaluated (`contains(activeNote.id, 'x')` without an active note)
    counts as false. The expression gets only the fields it reads, and its value stays the same while those fields
    do: to follow a log it is enough to check whether they changed.
    """

    def __init__(self, text: str, vault: VaultId | None = None) -> None:
        """
        Args:
            vault: the one whose state is tested; None: the vault that is current in that state.

        Raises:
            InvalidArgument: it does not parse, or names a function or a field of the state that there is not;
                `position` says where.
        """
        self.vault = vault
        self.trouble: str | None = None
        """Why it could not be evaluated, the last time that was so."""
        self._text = text
        self._parsed = _parsed(text)
        self._interpreter = TreeInterpreter()
        """Kept, since `search` makes one each time, which takes as long as the rest."""
        fields = _reads(self._parsed, text, at_root=True)
        if unknown := fields - _FIELDS:
            raise _unknown_field(min(unknown), text)
        self._of_workspace = sorted({part for field in fields for part in _OF_WORKSPACE.get(field, ())})
        self._of_vault = sorted({part for field in fields for part in _OF_VAULT.get(field, ())})

    def __call__(self, state: WorkspaceState) -> bool:
        state_json = msgspec.to_builtins(self._narrowed(state))
        try:
            return is_true(self._interpreter.visit(self._parsed, state_json))
        except (ArityError, UnknownFunctionError) as error:
            raise InvalidArgument(f"Cannot evaluate {self._text!r}: {error}.") from None
        except (JMESPathError, TypeError, ArithmeticError) as error:
            self.trouble = str(error)
            return False

    def _narrowed(self, state: WorkspaceState) -> StateJson:
        """The JSON of `state` with the fields that the expression reads; the others as in an empty state."""
        vault = self.vault if self.vault is not None else state.current
        parts: dict[str, Any] = {name: getattr(state, name) for name in self._of_workspace}
        if vault is not None and self._of_vault:
            vault_state = state.of(vault)
            parts["by_vault"] = {
                vault: VaultState(**{name: getattr(vault_state, name) for name in self._of_vault})
            }
        return to_json(WorkspaceState(**parts), vault)

    def same(self, before: WorkspaceState, after: WorkspaceState) -> bool:
        """True if both states are equal in all fields that the expression reads, and so in its value."""
        for name in self._of_workspace:
            if getattr(before, name) is not getattr(after, name):
                return False
        if self.vault is None and before.current != after.current:
            return not self._of_vault
        vault = self.vault if self.vault is not None else after.current
        old, new = before.of(vault), after.of(vault)
        if old is not new:
            for name in self._of_vault:
                if getattr(old, name) is not getattr(new, name):
                    return False
        return True


def is_true(value: Any) -> bool:
    """Whether JMESPath treats the value as true; 0 is true."""
    return not (value is None or value is False or value in ("", [], {}))


def _parsed(text: str) -> Any:
    if len(text) > EXPRESSION_CHARS_MAX:
        raise InvalidArgument(
            f"Expected at most {EXPRESSION_CHARS_MAX} characters of expression, got {len(text)}."
        )
    try:
        return jmespath.compile(text).parsed
    except RecursionError:
        raise InvalidArgument("The expression is nested too deeply.") from None
    except JMESPathError as error:
        position = getattr(error, "lex_position", None)
        if position is None:
            raise InvalidArgument("The expression is empty.", hint="Give JMESPath, see jmespath.org.") from None
        raise InvalidArgument(
            f"The expression does not parse at character {position + 1}:\n  {text}\n  {' ' * position}^",
            hint="It is JMESPath, see jmespath.org; text stands in '…', numbers in `…`.",
            position=position,
        ) from None


def _unknown_field(name: str, text: str) -> InvalidArgument:
    place = _place_of(name, text)
    if name in ("null", "true", "false"):
        hint = f"The value is written `{name}`."
        return InvalidArgument(f"The expression reads a field {name!r}.", hint=hint, position=place)
    fields = ", ".join(sorted(_FIELDS))
    hint = f"A state has {fields}."
    return InvalidArgument(f"The expression reads {name!r}, which no state has.", hint=hint, position=place)


def _place_of(name: str, text: str) -> int:
    """Where a field's or function's name stands first in an expression that parses: the characters before it."""
    return next((token["start"] for token in Lexer().tokenize(text) if token["value"] == name), 0)


def _reads(node: dict[str, Any], text: str, *, at_root: bool) -> frozenset[str]:
    """The state's top-level fields that an expression reads; a superset, never fewer.

    A node after a dot, in brackets or after a pipe applies to the value before it, not to the state.
    """
    kind, children = node["type"], node["children"]
    if kind in ("current", "identity"):
        return _FIELDS if at_root else frozenset()
    if kind == "field":
        return frozenset((node["value"],)) if at_root else frozenset()
    if kind == "function_expression" and node["value"] not in Functions.FUNCTION_TABLE:
        name = node["value"]
        place = _place_of(name, text)
        raise InvalidArgument(f"JMESPath has no function {name!r}.", hint="See jmespath.org.", position=place)
    fields: frozenset[str] = frozenset()
    for number, child in enumerate(children):
        if isinstance(child, dict):  # a slice has numbers
            inside = kind == "expref" or (kind in _FIRST_IN_SCOPE and number > 0)
            fields |= _reads(child, text, at_root=at_root and not inside)
    return fields
