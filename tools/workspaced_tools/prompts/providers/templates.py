"""A runtime's own templates, which write requests to providers that are not known here.

Templates are Jinja's and see one object called `request` (provider.Request). They decide the format of a body, not
its content. A sandbox bounds them, also those of a log: no files, no other templates, no clock, no randomness, a
maximum of steps and of output, and no expression whose result is much larger than its input.
"""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Final

import msgspec
import regex

from ...errors import TemplateFailed, UnknownShape
from ..model.untrusted_text import show_invisible
from .known import SHAPES
from .provider import Json, Request

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2 import Template as Compiled

SUFFIX: Final = ".json.jinja"
TEMPLATE_BYTES_MAX: Final = 64 * 1024
BODY_CHARS_MAX: Final = 64 * 1024 * 1024
STEPS_MAX: Final = 250_000
"""Rounds of loops and calls of macros, all together."""
_STEP: Final = "_step"
_JOINED: Final = "_joined"
_WRITABLE: Final = (str, int, float, type(None))
"""Types that may be written as text: the text of any other object could contain a memory address."""
_NUMBER_MAX: Final = 2**63
_STR_METHODS: Final = frozenset({"lower", "upper", "strip", "lstrip", "rstrip", "startswith", "endswith", "split"})
# fmt: off
_FILTERS: Final = frozenset((
    "abs", "attr", "batch", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round",
    "select", "selectattr", "slice", "sort", "sum", "trim", "truncate", "unique", "upper",
))
# fmt: on
"""Filters whose result is not much larger than their input."""
_CODE_NAME: Final = "<template>"
"""Jinja's file name for a template without a file."""
_BYTE: Final = regex.compile(r"\(byte (\d+)\)")
_MESSAGE_CHARS_MAX: Final = 200
_NAME: Final = regex.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_EXCERPT_CHARS_MAX: Final = 80
_LISTED_MAX: Final = 20


class Template(msgspec.Struct, frozen=True):
    """A shape of bodies."""

    name: str
    text: str | None = None
    """None: one of SHAPES, which a function renders."""


def template_named(name: str, folder: Path | None) -> Template:
    """The built-in shape of that name, or else `NAME.json.jinja` in the folder.

    Raises:
        UnknownShape: there is no such template, it is too large or no text, or it has the name of a built-in one.
    """
    path = folder / f"{name}{SUFFIX}" if folder is not None and _NAME.fullmatch(name) else None
    if name in SHAPES:
        if path is not None and path.exists():
            raise _unknown(f"{path.name} has the name of a shape that is built in", folder, "Give it another one.")
        return Template(name)
    if path is None:
        raise _unknown(f"There is no shape {name[:_EXCERPT_CHARS_MAX]!r}", folder)
    try:
        if not S_ISREG(path.stat().st_mode):
            raise _unknown(f"The shape {name!r} is no file", folder)
        with path.open("rb") as file:
            content = file.read(TEMPLATE_BYTES_MAX + 1)
        if len(content) > TEMPLATE_BYTES_MAX:
            raise _unknown(f"The shape {name!r} is larger than {TEMPLATE_BYTES_MAX} bytes", folder)
        return Template(name, content.decode())
    except UnicodeDecodeError:
        raise _unknown(f"The shape {name!r} is no UTF-8 text", folder) from None
    except OSError as error:
        raise _unknown(f"The shape {name!r} cannot be read ({error.strerror})", folder) from None


def _unknown(what: str, folder: Path | None, hint: str = "") -> UnknownShape:
    own = sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}")) if folder else []
    known = [*SHAPES, *(name for name in own[:_LISTED_MAX] if _NAME.fullmatch(name) and name not in SHAPES)]
    known_hint = f"There are: {', '.join(known)}. Your own are files NAME{SUFFIX}: lower case, digits, _ and -."
    return UnknownShape(f"{what}.", hint=hint or known_hint, known=known)


# -- rendering --


def rendered(name: str, text: str, request: Request) -> Json:
    """The body that the template gives.

    Raises:
        TemplateFailed: it cannot be rendered, or gives no JSON object.
    """
    compiled = context = None
    try:
        compiled = _compiled(text)
        context = compiled.new_context({"request": request, _STEP: _Steps().take, _JOINED: _joined})
        body = _bounded(compiled, context)
    except Exception as error:  # report every failure of a template with its line
        raise _failed(name, error, compiled) from error
    finally:
        if (
            context is not None
        ):  # its macros refer to it: otherwise only the cycle collector would free the request
            context.vars.clear()
            context.exported_vars.clear()
    return _object(name, body)


def _bounded(compiled: "Compiled", context: Any) -> str:
    pieces, chars = list[str](), 0
    for piece in compiled.root_render_func(context):
        pieces.append(piece)
        chars += len(piece)
        if chars > BODY_CHARS_MAX:
            raise OverflowError(f"more than {BODY_CHARS_MAX} characters")
    return "".join(pieces)


class _Steps:
    """Counts rounds and calls, so that every template ends."""

    def __init__(self) -> None:
        self._left = STEPS_MAX

    def take(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise OverflowError(f"more than {STEPS_MAX} steps")


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    """Imports Jinja on first use: most work of the daemon and the command line needs no template."""
    from jinja2 import StrictUndefined
    from jinja2.exceptions import SecurityError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        """A sandbox in which no single expression can exhaust the daemon's time or memory."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            numbers = all(isinstance(each, int | float) and abs(each) < _NUMBER_MAX for each in (left, right))
            if operator == "**" or not numbers:
                raise SecurityError(f"{operator} is for numbers below 2**63, and there is no **")
            return super().call_binop(context, operator, left, right)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            return (not isinstance(obj, str) or attr in _STR_METHODS) and super().is_safe_attribute(
                obj, attr, value
            )

        def wrap_str_format(self, _value: Any) -> None:
            """Disables `str.format`, whose width may be any number."""

    environment = Sandbox(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_written,
        autoescape=False,  # the output is JSON: every text goes through the filter `json`
    )
    for name in set(environment.filters) - _FILTERS:
        del environment.filters[name]
    environment.filters |= {"json": _json, "join": _join, "string": lambda value: str(_written(value))}
    del environment.globals["lipsum"]
    return environment


def _written(value: Any) -> Any:
    """Returns `value` if its text is the same in every process.

    Raises:
        TypeError: the text may differ.
    """
    if not isinstance(value, _WRITABLE) and not _is_undefined(value):
        raise TypeError(f"a {type(value).__name__} has no text: write it by the filter `json`")
    return value


def _is_undefined(value: Any) -> bool:
    """Whether the value is undefined: then making its text raises an error with its name."""
    from jinja2 import Undefined

    return isinstance(value, Undefined)


def _joined(*values: Any) -> str:
    texts = [str(_written(each)) for each in values]
    if sum(map(len, texts)) > BODY_CHARS_MAX:
        raise OverflowError(f"more than {BODY_CHARS_MAX} characters")
    return "".join(texts)


def _join(values: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
    texts = [each if attribute is None else getattr(each, attribute) for each in values]
    pieces = [piece for each in texts for piece in (between, each)]
    return _joined(*pieces[1:])


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except TypeError:
        if _is_undefined(value):
            str(value)
        raise


@lru_cache(maxsize=8)
def _compiled(text: str) -> "Compiled":
    """Compiles a template, which counts a step at the beginning of each loop's round and each macro."""
    from jinja2 import nodes

    environment = _environment()
    tree = environment.parse(text)
    bodies = [(node.lineno, node.body) for node in tree.find_all(nodes.For)]
    bodies += [(node.lineno, node.body) for node in tree.find_all(nodes.Macro)]
    bodies += [(node.lineno, node.body) for node in tree.find_all(nodes.CallBlock)]
    for line, body in bodies:
        step = nodes.ExprStmt(nodes.Call(nodes.Name(_STEP, "load"), [], [], None, None))
        body.insert(0, step.set_lineno(line))
    for node in list(tree.find_all(nodes.Concat)):
        joined = nodes.Call(nodes.Name(_JOINED, "load"), [*node.nodes], [], None, None)
        joined.lineno = node.lineno
        node.nodes = [joined]
    tree.set_environment(environment)
    return environment.from_string(tree)


# -- errors --


def _failed(name: str, error: Exception, compiled: "Compiled | None") -> TemplateFailed:
    line = _line(error, compiled)
    what = _visible(f"{type(error).__name__}: {error}", _MESSAGE_CHARS_MAX)
    where = f" at line {line}" if line is not None else ""
    return TemplateFailed(
        f"The template {name!r} failed{where}: {what}.",
        hint="Templates see one object, `request`; docs/how-to/request-templates.md says what it has.",
        template=name,
        line=line,
    )


def _line(error: Exception, compiled: "Compiled | None") -> int | None:
    """The template's line of the syntax error or of the failure."""
    found = getattr(error, "lineno", None)
    if isinstance(found, int) or compiled is None:
        return found if isinstance(found, int) else None
    line, traced = None, error.__traceback__
    while traced is not None:
        if traced.tb_frame.f_code.co_filename == _CODE_NAME:
            line = compiled.get_corresponding_lineno(traced.tb_lineno)
        traced = traced.tb_next
    return line


def _object(name: str, text: str) -> Json:
    """Decodes the rendered JSON object.

    Raises:
        TemplateFailed: the text is no JSON object; the message has the position and an excerpt.
    """
    why = "it is no object"
    try:
        found = msgspec.json.decode(text)
        if isinstance(found, dict):
            return found
        at = 0
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        why = str(error)
        byte = _BYTE.search(why)
        at = len(text.encode(errors="replace")[: int(byte[1])].decode(errors="ignore")) if byte else len(text)
    begin = max(0, at - _EXCERPT_CHARS_MAX // 2)
    excerpt = _visible(text[begin : begin + _EXCERPT_CHARS_MAX], _EXCERPT_CHARS_MAX)
    raise TemplateFailed(
        f"The template {name!r} gave no JSON object: {why}, at character {at}, near `{excerpt}`.",
        hint="Every text is to be written by the filter `json`, and nothing but one object.",
        template=name,
    )


def _visible(text: str, chars_max: int) -> str:
    return show_invisible(text).replace("\n", "\\n").replace("\t", "\\t")[:chars_max]
