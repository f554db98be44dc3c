"""jinja2 for templates that nobody has read: bounded in time, in size and in what they can reach.

A chat template comes with a downloaded file. It runs in jinja2's immutable sandbox, and on top of that

- every value that it makes is counted against a budget *before* it is made where its size can be told from
its parts (operators, `~`, `{% set %}` blocks, joins, replacements, formatting), and a call or a filter is
checked by its result; - a trace function looks at the clock on every line of the template's compiled code, so
no loop outlives its deadline, however empty its body is. Single operations are short because the budget
bounds their operands.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_VALUE: Final = 8_000_000
"""Most characters or elements of one value."""
MAX_WORK: Final = 256_000_000
"""Most characters and elements that one rendering makes in all."""
MAX_INT_BITS: Final = 4096
MAX_WIDTH: Final = 1000
"""Widest padding or indentation."""

# What chat templates use. Left out are those that make much out of little (center, format, wordwrap).
_FILTERS: Final = (
    "abs", "batch", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float",
    "indent", "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "reject",
    "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice", "sort", "string",
    "sum", "title", "trim", "truncate", "unique", "upper", "urlencode",
)  # fmt: skip
# A width of four digits or more, a width that is an argument ("%*d", "{:{}}").
_WIDE_FORMAT: Final = re.compile(r"%[^a-zA-Z%]*(\d{4,}|\*)|\{[^{}]*:[^{}]*(\d{4,}|\{)")


class TooMuch(Exception):
    """The template made more than it may."""


class TimeUp(BaseException):
    """The template took longer than it may. Not an Exception: nothing in jinja2 catches it on the way out."""


class GenerationTag(Extension):
    """`{% generation %}` of Hugging Face's templates marks training data and shows its body unchanged."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        parser.stream.skip(1)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _CountingGenerator(CodeGenerator):
    """Compiles `a ~ b` into a counted join.

    Jinja2 does not offer it for interception as it does operators.
    """

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.concat(map(str, (")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write(")))")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox with a budget. One rendering at a time: call `renew` before each."""

    code_generator_class = _CountingGenerator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[GenerationTag, "jinja2.ext.loopcontrols"],
            cache_size=0,
        )
        self._work = 0
        self.globals.pop("lipsum", None)
        self.filters = {name: self._checked(self.filters[name]) for name in _FILTERS}
        self.filters["tojson"] = self._checked(_to_json)

    def renew(self) -> None:
        self._work = 0

    def spend(self, size: int) -> None:
        """Count a value of `size` characters or elements; raises TooMuch."""
        self._work += size
        if size > MAX_VALUE or self._work > MAX_WORK:
            raise TooMuch("it makes a text without end")

    def concat(self, parts: Iterable[str]) -> str:
        """Join what an output block, a `{% set %}` block or `~` puts together."""
        kept: list[str] = []
        size = 0
        for part in parts:
            size += len(part)
            if size > MAX_VALUE:
                break
            kept.append(part)
        self.spend(size)
        return "".join(kept)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self.spend(_cost_of_operator(operator, left, right))
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        formatted = super().wrap_str_format(value)
        if formatted is None:
            return None

        def counted(*args: Any, **kwargs: Any) -> str:
            self.spend(_cost_of_format(value.__self__, "{", (*args, *kwargs.values())))
            return formatted(*args, **kwargs)

        return counted

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str):
            args = tuple(list(a) if isinstance(a, Iterator) else a for a in args)
            __self.spend(_cost_of_method(owner, __obj.__name__, args))
        result = super().call(__context, __obj, *args, **kwargs)
        __self.spend(_size(result))
        return result

    def _checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` counted by its arguments and its result."""

        def counted(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_VALUE:
                    raise TooMuch("it asks a filter for too much")
            if function.__name__ in (
                "do_indent",
                "do_replace",
                "sync_do_join",
                "do_join",
                "do_batch",
                "do_slice",
            ):
                args = tuple(list(a) if isinstance(a, Iterator) else a for a in args)
                self.spend(_cost_of_filter(function.__name__, args, kwargs))
            result = function(*args, **kwargs)
            self.spend(_size(result))
            return result

        # jinja2 marks there whether a filter wants the context; builtins such as len have no marks.
        counted.__dict__.update(getattr(function, "__dict__", {}))
        return counted


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | tuple | dict) else 0


def _longest(values: Iterable[Any]) -> int:
    return max((_size(value) for value in values), default=0)


def _cost_of_operator(operator: str, left: Any, right: Any) -> int:
    if operator == "+":
        return _size(left) + _size(right)
    if isinstance(left, str) and operator == "%":
        return _cost_of_format(left, "%", right if isinstance(right, tuple) else (right,))
    if operator == "*":
        for value, count in ((left, right), (right, left)):
            if _size(value) and isinstance(count, int):
                return _size(value) * max(count, 0)
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
        if bits > MAX_INT_BITS:
            raise TooMuch("it makes a number without end")
    return 0


def _cost_of_format(text: str, sign: str, arguments: Iterable[Any]) -> int:
    if _WIDE_FORMAT.search(text):
        raise TooMuch("it asks for a field too wide")
    return len(text) + text.count(sign) * (_longest(arguments) + MAX_WIDTH)


def _cost_of_join(separator: Any, items: Any) -> int:
    if not isinstance(items, list | tuple | str | dict):
        return 0
    return sum(map(_size, items)) + len(items) * _size(separator)


def _cost_of_method(text: str, name: str, args: tuple[Any, ...]) -> int:
    """Return what `text.name(*args)` makes at most, for the methods that make more than they are given."""
    if name == "join" and args:
        return _cost_of_join(text, args[0])
    if name == "replace" and len(args) >= 2:
        return len(text) + text.count(str(args[0])) * _size(args[1])
    if name in ("ljust", "rjust", "center", "zfill", "expandtabs", "translate"):
        width = args[0] if args else 8
        if not isinstance(width, int) or abs(width) > MAX_WIDTH:
            raise TooMuch("it asks for a field too wide")
        return len(text) * (abs(width) if name == "expandtabs" else 1) + abs(width)
    return 0


def _cost_of_filter(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """Return what a filter would make at most; jinja2 passes the context or the environment first to some."""
    values = [value for value in args if isinstance(value, str | list | tuple | int | dict)]
    sizes = [*map(_size, values), *map(_size, kwargs.values())]
    if name in ("sync_do_join", "do_join"):
        items = values[0] if values else ()
        return _cost_of_join(values[1] if len(values) > 1 else kwargs.get("d", ""), items)
    if name == "do_replace" and len(values) >= 3:
        return len(str(values[0])) + str(values[0]).count(str(values[1])) * sizes[2]
    numbers = [abs(v) for v in (*values[1:], *kwargs.values()) if isinstance(v, int)]
    width = max([*numbers, *(_size(v) for v in values[1:]), 4])
    if width > MAX_WIDTH and name != "do_replace":
        raise TooMuch("it asks for a field too wide")
    return sum(sizes) + (str(values[0]).count("\n") + 1) * width if values else 0


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON as Hugging Face's templates expect it: not escaped for HTML, unlike jinja2's own."""
    if indent is not None and indent > MAX_WIDTH:
        raise TooMuch("it asks for a field too wide")
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


@contextmanager
def deadline(limit_s: float) -> Iterator[None]:
    """Raise TimeUp inside the block once it has run for `limit_s` seconds, at the next line of Python.

    sys.settrace belongs to the thread; whatever traced before (a debugger, a coverage tool) traces again
    afterwards.
    """
    end_s = time.monotonic() + limit_s

    def look_at_clock(frame: FrameType, event: str, argument: Any) -> Any:
        if time.monotonic() > end_s:
            raise TimeUp
        return look_at_clock

    before = sys.gettrace()
    sys.settrace(look_at_clock)
    try:
        yield
    finally:
        sys.settrace(before)


def compile_template(source: str) -> tuple[BoundedEnvironment, jinja2.Template]:
    """Return `source` compiled; raises jinja2.TemplateError, RecursionError or TooMuch."""
    environment = BoundedEnvironment()
    return environment, environment.from_string(source)
