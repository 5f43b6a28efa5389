"""The text of a canvas: its cards as Markdown, so that all that reads notes reads it (jsoncanvas.org, 1.0).

A group is a heading above the cards that lie in it. Cards stand as they are seen: from top to bottom, then from
left to right. A card of a file is an embed of that file, one of a site its address; the arrows follow at the end.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from ..code_fences import find_fences

_LEVELS: Final = 6
_GROUPS_MAX: Final = 500
"""Of a canvas with more, which nobody draws, groups are no headings: each card is compared with each group."""
_NAME_CHARS: Final = 60
"""Of a card's first line, by which an arrow names it."""
_NOT_IN_WIKILINKS: Final = frozenset("[]|#^\\\r\n")


class _Card(NamedTuple):
    id: str
    kind: str
    left: float
    top: float
    right: float
    bottom: float
    node: dict[str, Any]

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)

    def holds(self, other: "_Card") -> bool:
        """Whether the middle of another card lies in this one."""
        x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def text(self, name: str) -> str:
        value = self.node.get(name)
        return value if isinstance(value, str) else ""


def canvas_text(source: bytes) -> str | None:
    """The cards of a canvas's file as Markdown; None: it is no JSON Canvas."""
    if not source.strip():
        return ""  # as an editor makes it
    try:
        read = msgspec.json.decode(source)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    cards = [card for node in _list(read, "nodes") if (card := _card(node)) is not None]
    cards.sort(key=lambda card: (card.top, card.left))
    # By the id of the smallest group in which each lies; the empty id: in none.
    groups = sorted((card for card in cards if card.kind == "group"), key=lambda card: card.area)
    groups = groups if len(groups) <= _GROUPS_MAX else []
    within: dict[str, list[_Card]] = {}
    for card in cards:
        is_group = card.kind == "group"
        larger = (each.id for each in groups if each.holds(card) and (not is_group or each.area > card.area))
        within.setdefault(next(larger, ""), []).append(card)
    parts = [part for card in within.get("", []) for part in _parts(card, within, 1)]
    names = {card.id: _name(card) for card in cards}
    arrows = [line for edge in _list(read, "edges") if (line := _arrow(edge, names)) is not None]
    return "\n\n".join([*filter(None, parts), *(["\n".join(arrows)] if arrows else [])]) + "\n"


def _list(read: dict[str, Any], name: str) -> list[Any]:
    found = read.get(name)
    return found if isinstance(found, list) else []


def _card(node: Any) -> _Card | None:
    if not isinstance(node, dict) or not isinstance(node.get("id"), str):
        return None
    x, y, width, height = (_number(node.get(name)) for name in ("x", "y", "width", "height"))
    return _Card(node["id"], str(node.get("type")), x, y, x + width, y + height, node)


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if is_number else 0.0


def _parts(card: _Card, within: dict[str, list[_Card]], level: int) -> list[str]:
    """The Markdown of a card; of a group also that of the cards in it."""
    if card.kind != "group":
        return [_shown(card)]
    label = " ".join(card.text("label").split())
    inner = within.pop(card.id, [])  # once, also if ids are not
    behind = [f"!{_link(card.text('background'), '')}"] if card.text("background") else []
    parts = behind + [part for each in inner for part in _parts(each, within, min(level + 1, _LEVELS))]
    return [f"{'#' * level} {label}", *parts] if label else parts


def _shown(card: _Card) -> str:
    if card.kind == "file" and card.text("file"):
        return f"!{_link(card.text('file'), card.text('subpath'))}"
    if card.kind == "link" and card.text("url"):
        return f"<{''.join(card.text('url').split())}>"
    text = card.text("text").strip("\n")  # also of kinds that other programs have added
    fences = find_fences(text, 0, len(text))
    # A fence or a comment that one card leaves open must not take in the next ones.
    if fences and fences[-1].end < 0:
        return f"{text}\n{fences[-1].line}"
    comment = text.rfind("<!--")
    return f"{text}\n-->" if comment >= 0 and "-->" not in text[comment:] else text


def _link(path: str, subpath: str) -> str:
    if _NOT_IN_WIKILINKS.isdisjoint(path):
        return f"[[{path}{subpath if subpath.startswith('#') else ''}]]"
    name = path.rpartition("/")[2].translate(str.maketrans("[]", "()"))
    return f"[{name}](/{quote(path)}{quote(subpath, safe='#^')})"


def _arrow(edge: Any, names: Mapping[str, str]) -> str | None:
    """`- One -> Other: label` of an edge between two cards; `names`: of the cards, by their ids."""
    if not isinstance(edge, dict):
        return None
    ends = [names.get(str(edge.get(name))) for name in ("fromNode", "toNode")]
    if not ends[0] or not ends[1]:
        return None
    label = edge.get("label")
    said = f": {' '.join(label.split())}" if isinstance(label, str) and label.strip() else ""
    return f"- {ends[0]} -> {ends[1]}{said}"


def _name(card: _Card) -> str:
    """A card's name for people, in which nothing is a link or tag."""
    whole = card.text("file").rpartition("/")[2] or card.text("label") or card.text("url") or card.text("text")
    first = next(iter(whole.strip().splitlines()), "")
    return " ".join(first.translate(str.maketrans("", "", "[]#*`<>!")).split())[:_NAME_CHARS]
