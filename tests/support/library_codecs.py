"""The library's codecs through ctypes: groups of float32 in, codes and values out."""

import ctypes
import os
from pathlib import Path

import numpy as np

ROUNDINGS = ["half_even", "half_away", "half_up", "toward_zero", "floor", "stochastic"]


def _library():
    build = Path(os.environ.get("ANYBIT_BUILD", "build/release"))
    lib = ctypes.CDLL(str((build / "lib" / "libcodec_library.so").resolve()))
    p, n = ctypes.c_void_p, ctypes.c_size_t
    lib.codec_error.restype = lib.codec_names.restype = ctypes.c_char_p
    lib.codec_make.restype = p
    lib.codec_make.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    lib.codec_free.argtypes = [p]
    lib.codec_bits.argtypes = [p]
    lib.codec_words.argtypes = [p, ctypes.c_int64]
    lib.codec_choose.argtypes = lib.codec_choose_group.argtypes = [p, p, n, p]
    lib.codec_choose_from_range.argtypes = [p, ctypes.c_float, ctypes.c_float, n, p]
    lib.codec_encode.argtypes = [p, p, n, p, ctypes.c_int, p, p]
    lib.codec_decode.argtypes = [p, p, n, p, p]
    lib.codec_quantize.argtypes = [p, p, n, p, ctypes.c_int, p, p]
    lib.codec_range.argtypes = [p, n, p, p, p]
    return lib


LIB = _library()


def names():
    return LIB.codec_names().decode().split()


def _floats(values):
    return np.ascontiguousarray(values, dtype=np.float32).reshape(-1)


def _address(array):
    return None if array is None or array.size == 0 else array.ctypes.data


class Codec:
    """One format with its parameters, e.g. Codec("minifloat", width=6, exponent_width=3, flavour="fn")."""

    def __init__(self, name, **parameters):
        text = ";".join(f"{k}={str(v).lower() if isinstance(v, bool) else v}" for k, v in parameters.items())
        self._handle = LIB.codec_make(name.encode(), text.encode())
        if not self._handle:
            raise ValueError(LIB.codec_error().decode())
        self.name = name
        self.bits = LIB.codec_bits(self._handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            LIB.codec_free(self._handle)

    def words(self, size):
        return LIB.codec_words(self._handle, size)

    def choose(self, values):
        """The group's words, as uint32."""
        x = _floats(values)
        words = np.zeros(self.words(x.size), np.uint32)
        LIB.codec_choose(self._handle, _address(x), x.size, _address(words))
        return words

    def choose_group(self, values, words):
        """The same with the words of per-tensor fields given."""
        x, words = _floats(values), words.astype(np.uint32).copy()
        LIB.codec_choose_group(self._handle, _address(x), x.size, _address(words))
        return words

    def choose_from_range(self, low, high, size=1):
        words = np.zeros(self.words(size), np.uint32)
        if LIB.codec_choose_from_range(self._handle, low, high, size, _address(words)):
            raise ValueError(LIB.codec_error().decode())
        return words

    def encode(self, values, words=None, rounding="half_even", noise=None):
        x = _floats(values)
        codes = np.zeros(x.size, np.uint16)
        LIB.codec_encode(
            self._handle, _address(x), x.size, _address(words), ROUNDINGS.index(rounding), _address(noise), _address(codes)
        )
        return codes

    def decode(self, codes, words=None):
        codes = np.ascontiguousarray(codes, dtype=np.uint16)
        out = np.zeros(codes.size, np.float32)
        LIB.codec_decode(self._handle, _address(codes), codes.size, _address(words), _address(out))
        return out

    def quantize(self, values, words=None, rounding="half_even", noise=None):
        x = _floats(values)
        out = np.zeros(x.size, np.float32)
        LIB.codec_quantize(
            self._handle, _address(x), x.size, _address(words), ROUNDINGS.index(rounding), _address(noise), _address(out)
        )
        return out

    def range(self, words=None, size=1):
        low, high = ctypes.c_float(), ctypes.c_float()
        LIB.codec_range(self._handle, size, _address(words), ctypes.addressof(low), ctypes.addressof(high))
        return low.value, high.value
