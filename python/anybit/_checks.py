"""Checks arguments at run time: the annotations of public functions give the types, and ``checked`` enforces them.

Checking also converts numpy scalars to Python numbers, and iterators to lists.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections import abc
from typing import Annotated, Any, Callable, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from .errors import InvalidArgument, InvalidType

_LOWEST, _HIGHEST = -2**63, 2**63 - 1  # of the integers that the library takes
_NOTHING: Any = object()  # fits no type
_SHOWN = 60  # characters of a wrong value in a message


class Within(NamedTuple):
    """Smallest and largest allowed integer."""

    low: int = _LOWEST
    high: int = _HIGHEST

    def words(self) -> str:
        if self.high != _HIGHEST:
            return f"an integer from {self.low} to {self.high}"
        return "an integer" if self.low == _LOWEST else f"an integer of at least {self.low}"


# Text after a type replaces its name in messages.
Path = Annotated[Union[str, os.PathLike[str]], "a path"]
Threads = Annotated[int, Within(0, 1024), "an integer from 0 (one for each core) to 1024"]
Memory = Annotated[int, Within(0), "a number of bytes, or 0 for no limit"]
Count = Annotated[int, Within(0)]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def checked(function: _Function) -> _Function:
    """Decorator: arguments that do not match the annotations raise an error that names the argument.

    >>> anybit.Session(digits, threads="all")
    Traceback (most recent call last):
    anybit.errors.InvalidType: threads='all'
      hint: an integer from 0 (one for each core) to 1024
    """
    known: list[_Signature] = []  # set by the first call: annotations may be forward references

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if not known:
            known.append(_Signature.of(function))
        args, named = known[0].fitted(args, named)
        return function(*args, **named)
    return cast(_Function, call)


class _Misfit(Exception):
    """A value that does not match a kind; ``where`` is its path inside the argument."""

    def __init__(self, value: Any, words: str, where: str = "", error: type[InvalidArgument] = InvalidType):
        super().__init__()
        self.value, self.words, self.where, self.error = value, words, where, error


class _Kind(NamedTuple):
    """A kind of values: its name, and a function that converts a value to it or raises ``_Misfit``."""

    words: str
    fit: Callable[[Any], Any]


class _Signature(NamedTuple):
    """The kinds of a function's arguments: by position, by keyword, and of ``**kwargs``."""

    positions: list[tuple[str, _Kind]]
    keywords: dict[str, _Kind]
    others: _Kind

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Signature:
        hints = get_type_hints(function, include_extras=True)
        positions, keywords, others = [], {}, _kind(Any)
        for name, one in inspect.signature(function).parameters.items():
            kind = _kind(hints.get(name, Any))
            if one.kind is one.VAR_KEYWORD:
                others = kind
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
                positions.append((name, kind))
            if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
                keywords[name] = kind
        return cls(positions, keywords, others)

    def fitted(self, args: tuple, named: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        # Python itself reports extra arguments.
        first = [_fitted(name, kind, value) for (name, kind), value in zip(self.positions, args)]
        return ((*first, *args[len(first):]),
                {name: _fitted(name, self.keywords.get(name, self.others), value) for name, value in named.items()})


def _fitted(name: str, kind: _Kind, value: Any) -> Any:
    try:
        return kind.fit(value)
    except _Misfit as misfit:
        error = misfit.error(f"{name}{misfit.where}={_short(misfit.value)}", "", misfit.words)
    raise error from None


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({type(value).__name__})"


def _kind(hint: Any) -> _Kind:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(*parts)
    if origin is Union:
        return _any_of([_kind(one) for one in parts])
    if origin is abc.Mapping:
        return _mapping(_kind(parts[0]), _kind(parts[1]))
    if origin in (abc.Iterable, abc.Sequence):
        return _several(_kind(parts[0]))
    if origin is abc.Callable:
        return _Kind("a function", _test(callable, "a function"))
    return _PLAIN.get(hint) or _instance(origin or hint)


def _annotated(hint: Any, *notes: Any) -> _Kind:
    kind = _kind(hint)
    for note in notes:
        kind = _integer(note) if isinstance(note, Within) else _called(note, kind)
    return kind


def _called(words: str, kind: _Kind) -> _Kind:
    def fit(value: Any) -> Any:
        try:
            return kind.fit(value)
        except _Misfit as misfit:
            if not misfit.where:
                misfit.words = words
            raise
    return _Kind(words, fit)


def _any_of(kinds: list[_Kind]) -> _Kind:
    words = sorted((one.words for one in kinds), key=lambda one: one == "None")
    text = ", ".join(words[:-1]) + (", or " if "," in words[-2] else " or ") + words[-1]

    def fit(value: Any) -> Any:
        nearest = _Misfit(value, text)
        for kind in kinds:
            try:
                return kind.fit(value)
            except _Misfit as misfit:
                if misfit.where or misfit.error is InvalidArgument:
                    nearest = misfit
        raise nearest
    return _Kind(text, fit)


def _mapping(keys: _Kind, values: _Kind) -> _Kind:
    words = "a dict"

    def fit(value: Any) -> dict:
        if not isinstance(value, abc.Mapping):
            raise _Misfit(value, words)
        return {_inside(keys, one, ""): _inside(values, value[one], f"[{_short(one)}]") for one in value}
    return _Kind(words, fit)


def _several(kind: _Kind) -> _Kind:
    words = "a list of " + (kind.words if kind.words == "text" else f"{kind.words.split(' ', 1)[1]}s")

    def fit(value: Any) -> list:
        # Text, bytes and mappings are iterable, but their items are characters, integers or keys.
        try:
            items = iter(_NOTHING if isinstance(value, (str, bytes, bytearray, abc.Mapping)) else value)
        except TypeError:
            raise _Misfit(value, words) from None
        return [_inside(kind, one, f"[{i}]") for i, one in enumerate(items)]
    return _Kind(words, fit)


def _inside(kind: _Kind, value: Any, where: str) -> Any:
    try:
        return kind.fit(value)
    except _Misfit as misfit:
        misfit.where = (where or " key") + misfit.where
        raise


def _test(holds: Callable[[Any], bool], words: str) -> Callable[[Any], Any]:
    def fit(value: Any) -> Any:
        if not holds(value):
            raise _Misfit(value, words)
        return value
    return fit


def _instance(kind: type) -> _Kind:
    words = "a class" if kind is type else f"anybit.{kind.__name__}"
    return _Kind(words, _test(lambda value: isinstance(value, kind), words))


def _integer(limits: Within) -> _Kind:
    words = limits.words()

    def fit(value: Any) -> int:
        try:
            number = operator.index(_NOTHING if isinstance(value, bool) else value)
        except TypeError:
            raise _Misfit(value, words) from None
        if not limits.low <= number <= limits.high:
            raise _Misfit(value, "an integer of 64 bits" if limits == Within() else words, "", InvalidArgument)
        return number
    return _Kind(words, fit)


def _real(value: Any) -> float:
    # Rejects text, which float() would parse.
    if isinstance(value, bool) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise _Misfit(value, "a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise _Misfit(value, "a number") from None


def _truth(value: Any) -> bool:
    if isinstance(value, bool) or (getattr(value, "dtype", None) == bool and getattr(value, "ndim", 1) == 0):
        return bool(value)
    raise _Misfit(value, "True or False")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Misfit(value, "text")
    try:
        value.encode("utf-8", "surrogateescape")  # Python's representation of file names that are not UTF-8
    except UnicodeEncodeError:
        raise _Misfit(value, "text in UTF-8", "", InvalidArgument) from None
    return value


def _path(value: Any) -> Any:
    if not isinstance(value, os.PathLike):
        raise _Misfit(value, "a path")
    _text(os.fspath(value))
    return value


_PLAIN = {
    Any: _Kind("anything", lambda value: value), object: _Kind("anything", lambda value: value),
    type(None): _Kind("None", _test(lambda value: value is None, "None")),
    bool: _Kind("True or False", _truth), int: _integer(Within()), float: _Kind("a number", _real),
    str: _Kind("text", _text), os.PathLike[str]: _Kind("a path", _path),
}
