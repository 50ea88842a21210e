"""Settings as typed fields of a class, for recipes, the command line and saved models.

A type is ``bool``, ``Literal``, an enumeration, one of the types below, or another type of msgspec.
"""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import fields
from enum import Enum
from numbers import Number
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from shroom.core.problems import ShroomError, show

Text = Annotated[str, Meta(pattern=r"\S", title="a text")]
File = Annotated[str, Meta(pattern=r"\S", title="a path")]
Name = Annotated[str, Meta(pattern=r"\S", title="a name")]
#: One name or several.
Names = Annotated[tuple[Name, ...], Meta(min_length=1, title="a name or a list of names")]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
#: Whole numbers.
Natural = Annotated[int, Meta(ge=0, le=sys.maxsize)]
Count = Annotated[int, Meta(ge=1, le=sys.maxsize)]


def convert_fields(instance: Any) -> None:
    """Convert a dataclass's fields to their types; texts, as from ``--set``, are parsed."""
    cls: type = type(instance)
    types = _types(cls)
    for field in (field for field in fields(instance) if field.init):
        given = getattr(instance, field.name)
        value = converted(field.name, given, types[field.name])
        if type(value) is not type(given) or value != given:  # scikit-learn clones by identity
            object.__setattr__(instance, field.name, value)


def converted(name: str, value: Any, kind: Any) -> Any:
    """Return a value converted to a type, or raise a ShroomError."""
    plain = value.item() if isinstance(value, Number) and hasattr(value, "item") else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    optional, kind, meta = _parts(kind)
    if plain is None and optional:
        return None
    several = get_origin(kind) is tuple
    try:
        return msgspec.convert(
            (plain,) if several and isinstance(plain, str) else plain,
            Annotated[kind, meta] if meta else kind,
            strict=False,
        )
    except msgspec.ValidationError as error:
        values = _values(kind)
        expected = f"one of {', '.join(values)}" if values else _in_words(kind, meta)
        raise ShroomError(f"{name}: expected {expected}, got {show(value)}") from error


@functools.cache
def _types(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _parts(kind: Any) -> tuple[bool, Any, Meta | None]:
    """Return whether a type allows ``None``, the rest of the type, and its bounds and title."""
    optional = type(None) in get_args(kind)
    if optional:
        kind = Union[tuple(one for one in get_args(kind) if one is not type(None))]
    if get_origin(kind) is not Annotated:
        return optional, kind, None
    plain, *others = get_args(kind)
    return optional, plain, next((one for one in others if isinstance(one, Meta)), None)


def _values(kind: Any) -> list[str]:
    """Return the values of a ``Literal`` or an enumeration, in order."""
    if get_origin(kind) is Literal:
        return [str(value) for value in get_args(kind)]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(one.value) for one in kind]
    return []


def _in_words(kind: Any, meta: Meta | None) -> str:
    if meta and meta.title:
        return meta.title
    words = {bool: "true or false", float: "a number", int: "a whole number", str: "a text"}
    noun = words.get(kind, "another value")
    least, most = (None, None) if meta is None else (meta.ge, meta.le)
    if most in (None, sys.float_info.max, sys.maxsize):
        return noun if least is None else f"{noun} of at least {least:.12g}"
    return f"{noun} from {least:.12g} to {most:.12g}"
