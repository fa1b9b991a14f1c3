"""anybit's operators in ONNX Runtime."""

from __future__ import annotations

import warnings
from pathlib import Path

from ._checks import checked
from .errors import NotFound

_LIBRARY = "libanybit_ort.so"


@checked
def get_library_path(device: str = "CPU") -> str:
    """The path of anybit's library of custom operators for ONNX Runtime 1.17 and newer.

    With it ONNX Runtime runs files of ``--emit packed``, and models that AMD's tools wrote with MX and BFP operators
    (docs/onnxruntime-library.md).

    Parameters
    ----------
    device : "CPU". There is no library for another device: the one for the CPU is returned, with a warning.

    >>> path = anybit.get_library_path()
    >>> Path(path).name
    'libanybit_ort.so'
    """
    if device.upper() != "CPU":
        warnings.warn(f"anybit has no custom operators for device '{device}': these run on the CPU", stacklevel=3)
    package = Path(__file__).resolve().parent
    for folder in (package / "lib", package.parents[1] / "lib"):  # in a wheel; in a build folder
        if (folder / _LIBRARY).is_file():
            return str(folder / _LIBRARY)
    raise NotFound(f"{_LIBRARY} is not in {package / 'lib'}", "", "install the package (pip install .)")
