"""The image decoders of the library under test.

    pixels = decode(bytes_of_a_file, channels=3)      # raises ImageError
"""
import ctypes
import os
import pathlib

import numpy as np

LIBRARY = ctypes.CDLL(str((pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")) / "lib" / "libimage_library.so").resolve()))
ERRORS = {5: "malformed", 7: "unsupported", 8: "limit_exceeded"}


class ImageError(Exception):
    """An error of the library; `code` is the name of the error code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = ERRORS.get(code, str(code))


def _checked(call, *arguments):
    message = ctypes.create_string_buffer(400)
    code = call(*arguments, message)
    if code:
        raise ImageError(code, message.value.decode(errors="replace"))


def size(data):
    """(height, width)"""
    dims = (ctypes.c_int64 * 2)()
    _checked(LIBRARY.image_size, data, ctypes.c_size_t(len(data)), dims)
    return tuple(dims)


def decode(data, channels=3, fill=0):
    """Pixels [height, width, channels]; `fill` is the previous content of their memory."""
    pixels = np.full((*size(data), channels), fill, np.uint8)
    _checked(LIBRARY.image_decode, data, ctypes.c_size_t(len(data)), channels, pixels.ctypes.data_as(ctypes.c_void_p),
             ctypes.c_size_t(pixels.size))
    return pixels
