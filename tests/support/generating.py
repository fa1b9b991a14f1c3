"""Models as C: generated in this process, compiled many at a time, called through ctypes.

    generate(model, folder / "one.c")
    outputs = compile_all(["one"], folder)["one"].run([x], [like_y])
"""
import concurrent.futures
import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BUILD = pathlib.Path(os.environ.get("ANYBIT_BUILD", "build/release")).resolve()
PLUGINS = BUILD / "lib" / "anybit" / "codegen"
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
CLANG = next(filter(None, map(shutil.which, ["clang", "clang-14"])), None)
# Not every CPU has dot4 instructions (AVX-512 VNNI), but every compiler supports them.
VNNI = ["-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512vnni"]
HAS_VNNI = {"avx512bw", "avx512_vnni"} <= set(pathlib.Path("/proc/cpuinfo").read_text().split())
DEFAULT, PERFORMANCE, MEMORY, COMPILE_TIME = range(4)
SEED = 20240711
NUMBERS = {np.dtype(np.uint8): TensorProto.UINT8, np.dtype(np.int8): TensorProto.INT8, np.dtype(np.float32): TensorProto.FLOAT,
           np.dtype(np.int16): TensorProto.INT16, np.dtype(np.uint16): TensorProto.UINT16, np.dtype(np.int32): TensorProto.INT32}
MICROSOFT = "com.microsoft"
ANYBIT = "ai.anybit"
BATCH = 100  # models per library
JOBS = 2


class NotGenerated(Exception):
    """An error of the generator."""


class NotCompiled(Exception):
    """An error of the compiler."""


def _library():
    library = ctypes.CDLL(str(BUILD / "lib" / "libcodegen_library.so"))
    library.codegen_error.restype = ctypes.c_char_p
    return library


LIBRARY = _library()


def generate(model, path, preference=0):
    """Writes the C code of an onnx.ModelProto."""
    data = model.SerializeToString()
    failed = LIBRARY.codegen_generate(data, ctypes.c_size_t(len(data)), b"c-gen", str(PLUGINS).encode(), str(path).encode(),
                                      preference)
    if failed:
        raise NotGenerated(LIBRARY.codegen_error().decode())


def _silent(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotCompiled(done.stderr[:4000])


def compile_shared(source, target, *options):
    """Compiles with GCC, and checks with Clang, if installed, which has other warnings."""
    if CLANG:
        _silent(CLANG, *STRICT, "-fsyntax-only", *options, source)
    _silent("gcc", *STRICT, "-shared", "-fPIC", *options, "-o", target, source, "-lm")
    return ctypes.CDLL(str(target))


class RunFailed(Exception):
    """The inputs select an invalid branch."""


class Program:
    """A generated model in a loaded library; `name` is the stem of its file. `header` declares whether runs may fail."""

    def __init__(self, library, name, header=None):
        self.function = getattr(library, f"{name}_run")
        may_fail = header is not None and f"int {name}_run(" in header.read_text()
        self.function.restype = ctypes.c_int if may_fail else None

    def run(self, inputs, like):
        """Arrays in the model's order; `like`: arrays with the shapes and types of the outputs."""
        given = [np.ascontiguousarray(x) for x in inputs]
        made = [np.zeros(x.shape, x.dtype) for x in like]
        if self.function(*[ctypes.c_void_p(x.ctypes.data) for x in [*given, *made]]):
            raise RunFailed()
        return made


def _joined(names, folder):
    """Joins many files to one with unique names of static objects: start-up and headers dominate the compile time of
    small files."""
    whole = []
    for name in names:
        text = (folder / f"{name}.c").read_text()
        own = re.findall(r"^(?:ALONE |)(?:static|STEP|INLINE) [^(=;{]*?(\w+)(?:\(|\[)", text, re.MULTILINE) + ["arena"]
        own += re.findall(r"^typedef .*?(\w+)(?: __attribute__.*)?;$", text, re.MULTILINE)
        whole.append(re.sub(r"\b(" + "|".join(set(own)) + r")\b", rf"{name}_\1", text))
    path = folder / f"{names[0]}_and_others.c"
    path.write_text("\n".join(whole))
    return path


def compile_all(names, folder, *options):
    """{name: Program, or the exception with the reason} of the files "name.c" in `folder`."""

    def build(batch):
        target = folder / f"{batch[0]}.so"
        try:
            source = _joined(batch, folder) if len(batch) > 1 else folder / f"{batch[0]}.c"
            library = compile_shared(source, target, "-O0", *options)
            return {name: Program(library, name, folder / f"{name}.h") for name in batch}
        except NotCompiled as error:
            if len(batch) == 1:
                return {batch[0]: error}
            half = len(batch) // 2
            return build(batch[:half]) | build(batch[half:])

    programs = {}
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for built in pool.map(build, [names[i:i + BATCH] for i in range(0, len(names), BATCH)]):
            programs |= built
    return programs


def model_of(nodes, inputs, constants, outputs=("y",)):
    """Shapes and types of outputs are left for anybit to find."""
    ports = [helper.make_tensor_value_info(name, NUMBERS[x.dtype], x.shape) for name, x in inputs.items()]
    graph = helper.make_graph(nodes, "g", ports, [onnx.ValueInfoProto(name=name) for name in outputs],
                              [numpy_helper.from_array(np.asarray(x), name) for name, x in constants.items()])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1), helper.make_opsetid(ANYBIT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def random_integers(random, kind, shape=()):
    info = np.iinfo(kind)
    return random.integers(info.min, info.max + 1, shape).astype(kind)


def choosing_model(*branches, ends=()):
    """y = a branch of x, which is [2, 3], by the input "first"; a branch is the shape that it wants to give x."""
    def branch(name, shape):
        target = helper.make_tensor(f"{name}_shape", TensorProto.INT64, [len(shape)], shape)
        return helper.make_graph([helper.make_node("Reshape", ["r", f"{name}_shape"], [name])], name, [],
                                 [onnx.ValueInfoProto(name=name)], [target])
    node = helper.make_node("If", ["first"], ["i"], then_branch=branch("a", branches[0]), else_branch=branch("b", branches[1]))
    before, after = ends or ([helper.make_node("Relu", ["x"], ["r"])], [helper.make_node("Relu", ["i"], ["y"])])
    model = model_of([*before, node, *after], {"x": np.zeros((2, 3), np.float32)}, {"s": np.float32(0.5), "z": np.int8(0)})
    model.graph.input.append(helper.make_tensor_value_info("first", TensorProto.BOOL, []))
    return model


def compiled(names, folder, *options):
    """Each in its own library: options differ."""
    programs = compile_all(names, folder, *options, "-pedantic")
    for name, program in programs.items():
        assert isinstance(program, Program), f"{name}: {program}"
    return programs


def calls(name, header):
    """C that runs it once, on memory of just the size that it takes."""
    names = re.search(rf"{name}_run\((.*)\);", header).group(1).split(", ")
    ports = [(one.removeprefix("const ").split(" ")[0], one.split("*")[1]) for one in names]
    text = "".join(f"    {kind} *{port} = calloc({name.upper()}_{port.upper()}_COUNT, sizeof(*{port}));\n" for kind, port in ports)
    text += f"    {name}_run({', '.join(port for _, port in ports)});\n" + "".join(f"    free({port});\n" for _, port in ports)
    return f"  {{\n{text}  }}\n"
