"""Code generation."""

from __future__ import annotations

import os
from typing import Annotated, Any, Iterable, Mapping, Optional, Sequence, Union

from . import _anybit
from ._arrays import to_native
from ._checks import Path, checked
from ._model import Source, load
from ._text import names
from .errors import InvalidArgument

#: A folder, or several.
Folders = Annotated[Union[str, os.PathLike[str], Iterable[Path]], "the path of a folder, or a list of paths"]


@checked
def codegen(model: Source, target: str, output: Optional[Path] = None, *, prefer: str = "default",
            settings: Mapping[str, object] = {}, shapes: Mapping[str, Sequence[int]] = {}, constants: Mapping[str, Any] = {},
            plugins: Folders = ()) -> str:
    """Runs a code generator on a model.

    Parameters
    ----------
    model : path, bytes, ``onnx.ModelProto`` or ``anybit.Model``.
    target : name of the generator, such as "c-gen".
    output : path to write; None for the path of the model with the generator's extension.
    prefer : "default", "performance", "memory" or "compile-time".
    settings : generator-specific settings.
    shapes : shapes of inputs with symbolic dimensions.
    constants : values of inputs to fold into the code, such as one that selects a branch.
    plugins : absolute path of a folder to search first for generators, or several.

    Returns
    -------
    The path of the written file.

    >>> path = anybit.codegen(digits, "c-gen", folder / "digits.c", shapes={"image": (1, 1, 28, 28)})
    >>> (folder / "digits.c").exists()
    True
    """
    given = load(model)
    if output is None and given.path is None:
        raise InvalidArgument("a model that was not loaded from a file has no path to derive one from", "",
                              "output='model.c'")
    return _anybit.codegen(given._native, target, os.fspath(output or ""), prefer, {name: str(one) for name, one in settings.items()},
                           shapes, {name: to_native(one, name) for name, one in constants.items()}, _folders(plugins))


@checked
def generators(plugins: Folders = ()) -> list[_anybit.Generator]:
    """The available code generators.

    >>> "c-gen" in [one.name for one in anybit.generators()]
    True
    """
    return _anybit.generators(_folders(plugins))


def _folders(plugins: Folders) -> list[str]:
    for folder in names(plugins):
        if not os.path.isabs(folder):
            raise InvalidArgument(f"plugins='{folder}'", "", "an absolute path")
    return names(plugins)
