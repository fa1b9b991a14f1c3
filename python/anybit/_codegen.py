"""Code generators."""

from __future__ import annotations

import os
from typing import Iterable, Mapping, Optional, Sequence, Union

from . import _anybit
from ._model import Source, load
from ._text import names
from .errors import InvalidArgument

#: A folder, or several.
Folders = Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]


def codegen(model: Source, target: str, output: Union[None, str, os.PathLike[str]] = None, *, prefer: str = "default",
            settings: Mapping[str, object] = {}, shapes: Mapping[str, Sequence[int]] = {},
            plugins: Folders = ()) -> str:
    """Turns a model into a file by a code generator ("c-gen"), and gives its path.

    Without ``output``: the model's path with the generator's extension. ``prefer``: "default", "performance", "memory" or
    "compile-time". ``settings`` are the generator's own; ``shapes`` fixes inputs that the model leaves open; ``plugins`` are
    folders (absolute paths; a single one may stand alone) to look for generators in first.

    >>> path = anybit.codegen(digits, "c-gen", folder / "digits.c", shapes={"image": (1, 1, 28, 28)})
    >>> (folder / "digits.c").exists()
    True
    """
    path: Optional[str] = None if output is None else os.fspath(output)
    if path is None and not isinstance(model, (str, os.PathLike)):
        raise InvalidArgument("no path is given for what is generated", "", "output='model.c'")
    return _anybit.codegen(load(model)._native, target, path or "", prefer, {name: str(one) for name, one in settings.items()},
                           {name: list(one) for name, one in shapes.items()}, names(plugins))


def generators(plugins: Folders = ()) -> list[_anybit.Generator]:
    """The code generators that are there.

    >>> "c-gen" in [one.name for one in anybit.generators()]
    True
    """
    return _anybit.generators(names(plugins))
