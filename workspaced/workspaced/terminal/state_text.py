"""A state and its parts as lines of text, with control characters escaped."""

from typing import Any, Final

from workspaced_events.escaping import escape_control

from .screen import local_time, print_labelled

_LABEL_CHARS: Final = 12


def pause_text(paused: dict[str, Any] | None) -> str:
    """A pause for people."""
    if paused is None:
        return "not paused"
    until = local_time(paused["until"]) if paused.get("until") is not None else "`workspaced resume`"
    return f"paused since {local_time(paused['since'])}, until {until}"


def idle_rule_text(idle: dict[str, Any]) -> str:
    """An ignore rule that matches nothing, for people."""
    return f"the rule {idle['rule']!r}, {idle['source']}, line {idle['line']}, matches no file"


def unchanged_text(reasons: dict[str, int]) -> str:
    """How many requests went on without context, for people."""
    return ", ".join(f"{count} {code}" for code, count in reasons.items())


def state_lines(state: dict[str, Any]) -> list[str]:
    """A state's JSON form as lines for people."""
    active, selection = state["activeNote"], state["selection"]
    rows = [
        f"after event  {state['seq']}",
        f"vault        {state['currentVaultId'] or 'none'}",
        f"active       {active['id'] + '  since ' + local_time(active['since']) if active else 'none'}",
    ]
    if (paused := state.get("paused")) is not None:
        rows.append(f"paused       {pause_text(paused).removeprefix('paused ')}")
    rows += [f"pinned       {pin['id']}" for pin in state["pinnedNotes"]]
    for tab in state["temporaryTabs"]:
        marker = "*" if tab["id"] == state["activeTabId"] else " "
        rows.append(f"tab{marker}         {tab['noteId']}  ({tab['source']})")
    # An empty text is a cursor: nothing is selected there.
    if selection is not None and selection.get("text") != "":
        rows.append(f"selected     lines {selection['startLine']} to {selection['endLine']}")
    rows += [f"archived     {note}" for note in state["archived"]]
    rows += [f"recent       {each['id']}  {local_time(each['at'])}" for each in state["recentNotes"][:10]]
    return [escape_control(row) for row in rows]


def print_state(state: dict[str, Any]) -> None:
    for line in state_lines(state):
        print_labelled(line[:_LABEL_CHARS], line[_LABEL_CHARS + 1 :])
