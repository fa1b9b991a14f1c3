"""onert's C API of libnnfw-anybit.so: programs compiled as C99 and as C++, and sessions in Python."""

import ctypes
import shutil
import subprocess
from pathlib import Path

from support.devices import ROOT, generator, sanitizers

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
LANGUAGES = {"C99": ["gcc", "-x", "c", "-std=c99"], "C++": ["g++", "-x", "c++", "-std=c++17"]}


def installed(build: Path, prefix: Path, *defines) -> Path:
    """Copies of libraries and programs, with the generator abc-gen where onert's plugins are installed."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib" / "nnfw").mkdir(parents=True)
    shutil.copytree(build / "lib" / "anybit", prefix / "lib" / "anybit")
    for name in ("libanybit.so", "libnnfw-anybit.so"):
        for link in (name, f"{name}.0"):
            shutil.copy((build / "lib" / name).resolve(), prefix / "lib" / link)
    for name in ("anybit", "onert_run"):
        shutil.copy(build / "bin" / name, prefix / "bin" / name)
    generator(prefix / "lib" / "nnfw" / "codegen", *defines)
    return prefix


def compiled(build: Path, folder: Path, source: Path, language: str, library: Path | None = None) -> Path:
    """The program, built with the include folder that onert's users name: that of nnfw.h."""
    library = (library or build / "lib").resolve()
    program = folder / f"{source.stem}_{language.replace('+', 'p')}"
    command = [*LANGUAGES[language], *STRICT, f"-I{ROOT}/include/nnfw", source, "-x", "none", "-o", program, *sanitizers(build),
               f"-L{library}", "-lnnfw-anybit", f"-Wl,-rpath,{library}"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


class TensorInfo(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("dims", ctypes.c_int32 * 6)]

    def shape(self):
        return list(self.dims[:self.rank])


class Session:
    """A session of onert's C API: session.run() is nnfw_run(session), and returns its status."""

    def __init__(self, library):
        self.library, self.handle, self.bound = library, ctypes.c_void_p(), {}
        assert library.nnfw_create_session(ctypes.byref(self.handle)) == 0

    def __getattr__(self, name):
        function = getattr(self.library, f"nnfw_{name}")

        def call(*words):
            return function(self.handle, *(str(word).encode() if isinstance(word, (str, Path)) else word for word in words))
        return call

    def error(self):
        text = ctypes.create_string_buffer(4096)
        assert self.get_last_error_message(text, ctypes.c_size_t(4096)) == 0
        return text.value.decode()

    def info(self, which, index=0):
        """(the status, the TensorInfo) of "input" or "output"."""
        info = TensorInfo()
        return getattr(self, f"{which}_tensorinfo")(index, ctypes.byref(info)), info

    def bind(self, which, array, index=0, dtype=0, length=None):
        """Sets a NumPy array as buffer, and keeps it: the session holds its address only."""
        self.bound[which, index] = array
        return getattr(self, f"set_{which}")(index, dtype, ctypes.c_void_p(array.ctypes.data),
                                             ctypes.c_size_t(array.nbytes if length is None else length))
