"""The properties of a note: values as people wrote them in YAML, the links among them, tags and aliases.

A scalar keeps its written form: `3.10`, `+4915123` and `1e5` are texts. It is a number only if JSON writes the
number as the same text, `true` and `false` are booleans only as such, and only an empty value, `null` and `~` are
null. So what is shown, named or compared is what stands in the file. YAML's tags have no effect, and `<<` is an
ordinary name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from ..limits import ECHO_CHARS_MAX, FRONT_MATTER_DEPTH_MAX, FRONT_MATTER_EXPANDED_MAX

_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NUMBER: Final = re.compile(r"-?\d{1,17}(?:\.\d{1,17})?(?:e-?\d{1,3})?")
_INTEGER_MAX: Final = 2**53
"""Beyond it a reader of JSON may see another number."""
_WIKILINK: Final = re.compile(r"\[\[((?:(?!\]\]|\[\[)[^\n\r])+)\]\]")


class Unreadable(Exception):
    """Why a text is no mapping, and where."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.what = what
        self.offset = offset
        """In code points from the beginning of the text."""


class PropertyLink(msgspec.Struct, frozen=True):
    """A wikilink in a value."""

    key: str
    """The names that lead to the value, joined by dots."""
    written: str
    """What stands between the brackets."""
    start: int
    """Where it stands, in code points."""
    end: int


class Properties(msgspec.Struct, frozen=True):
    """The values by their names, JSON-shaped, and the links in them in the order of the text."""

    fields: dict[str, Any]
    links: list[PropertyLink]


def read_properties(text: str) -> Properties | None:
    """The mapping in `text`; None: there is nothing but comments.

    Raises:
        Unreadable: it is no mapping, or no YAML.
    """
    try:
        return _Reader(text).read()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(str(error.problem)[:ECHO_CHARS_MAX], getattr(mark, "index", 0)) from None
    except yaml.YAMLError as error:  # a control character; its position is in bytes
        at = next((at for at, each in enumerate(text) if each < " " and each not in "\t\r\n"), 0)
        raise Unreadable(str(getattr(error, "reason", error))[:ECHO_CHARS_MAX], at) from None


class _Reader:
    """Takes the parser's events. One instance reads one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._anchors: dict[str, tuple[Any, int]] = {}
        """Values by their anchors, and how large they are."""
        self._size = 0
        """Values and characters so far."""
        self._path: list[str] = []
        self._links: list[PropertyLink] = []

    def read(self) -> Properties | None:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        event = next(self._events)
        if isinstance(event, yaml.ScalarEvent) and not event.value and event.implicit[0]:
            return None
        if not isinstance(event, yaml.MappingStartEvent):
            raise Unreadable("expected `name: value`", _at(event))
        fields = self._value(event)
        next(self._events)
        if not isinstance(after := next(self._events), yaml.StreamEndEvent):
            raise Unreadable("a second document begins", _at(after))
        return Properties(fields, self._links)

    def _value(self, event: Any) -> Any:
        before = self._size
        self._count(1 + len(event.value) if isinstance(event, yaml.ScalarEvent) else 1, event)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise Unreadable(f"there is no complete value &{event.anchor}", _at(event))
            value, size = self._anchors[event.anchor]
            self._count(size, event)
            return value
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._list(event)
        else:
            value = self._mapping()
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._size - before
        return value

    def _count(self, size: int, event: Any) -> None:
        self._size += size
        if self._size > FRONT_MATTER_EXPANDED_MAX:
            raise Unreadable("aliases repeat too much", _at(event))

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if "[[" in text:
            start, end = _at(event), _end(event)
            found = list(_WIKILINK.finditer(text))
            places = list(_WIKILINK.finditer(self._text, start, end))
            for number, link in enumerate(found):
                exact = places[number].span() if len(places) == len(found) else (start, end)
                self._add_link(link[1], *exact)
        return _plain(text) if event.implicit[0] else text

    def _list(self, event: Any) -> list[Any]:
        self._enter("", event)
        values: list[Any] = []
        while not isinstance(each := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(each))
        self._path.pop()
        # `up: [[note]]` is a list in a list to YAML; its author meant a link.
        start, end = _at(event), _end(each)
        if event.flow_style and (link := _WIKILINK.fullmatch(self._text, start, end)) is not None:
            self._add_link(link[1], start, end)
        return values

    def _mapping(self) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while not isinstance(each := next(self._events), yaml.MappingEndEvent):
            if not isinstance(each, yaml.ScalarEvent):
                raise Unreadable("expected a text as name of a value", _at(each))
            name: str = each.value
            if name in fields:
                raise Unreadable(f"a second `{name[:ECHO_CHARS_MAX]}`", _at(each))
            self._enter(name, each)
            fields[name] = self._value(next(self._events))
            self._path.pop()
        return fields

    def _enter(self, name: str, event: Any) -> None:
        self._path.append(name)
        if len(self._path) > FRONT_MATTER_DEPTH_MAX:
            raise Unreadable(f"values stand more than {FRONT_MATTER_DEPTH_MAX} deep", _at(event))

    def _add_link(self, written: str, start: int, end: int) -> None:
        self._links.append(PropertyLink(".".join(filter(None, self._path)), written, start, end))


def _at(event: Any) -> int:
    """Where an event begins."""
    found: int = event.start_mark.index
    return found


def _end(event: Any) -> int:
    found: int = event.end_mark.index
    return found


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if text in frozenset({"", "~", "null"}):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) is None:
        return text
    number = float(text) if "." in text or "e" in text else int(text)
    is_same = _written(number) == text and (isinstance(number, float) or abs(number) <= _INTEGER_MAX)
    return number if is_same else text


def _written(value: float) -> str:
    return msgspec.json.encode(value).decode()


# -- tags and aliases --


def named(fields: Mapping[str, Any], *names: str) -> tuple[str, Any] | None:
    """The first of these properties that there is, by its name as it is written: in this case, else in any."""
    for name in names:
        if name in fields:
            return name, fields[name]
    for name in names:
        for written, value in fields.items():
            if written.casefold() == name:
                return written, value
    return None


def tags_of(fields: Mapping[str, Any], inline: Iterable[str]) -> tuple[str, ...]:
    """Tags without `#`, each once whatever its case: those of the property `tags` or `tag`, which is a list, or a
    text with commas or blanks, then those of the text."""
    found = named(fields, "tags", "tag")
    value = found[1] if found is not None else None
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    texts = (text.removeprefix("#") for each in listed(value) if (text := scalar_text(each)) is not None)
    tags: dict[str, str] = {}
    for tag in (*texts, *inline):
        if tag:
            tags.setdefault(tag.casefold(), tag)
    return tuple(tags.values())


def aliases_of(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The property `aliases` or `alias`: a list, or a text with commas."""
    found = named(fields, "aliases", "alias")
    value = found[1] if found is not None else None
    if isinstance(value, str):
        value = value.split(",")
    return tuple(name for each in listed(value) if (name := scalar_text(each)) is not None)


def scalar_text(value: object) -> str | None:
    """A name as text, as it is written; None for a list, a mapping, nothing, and the empty text."""
    if isinstance(value, str):
        return value.strip() or None
    return _written(value) if isinstance(value, int | float) else None


def listed(value: Any) -> list[Any]:
    """A list as it is; another value as a list of one."""
    return value if isinstance(value, list) else [value]
