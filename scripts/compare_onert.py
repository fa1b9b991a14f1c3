"""Compares libnnfw-anybit.so with onert's own library, call by call.

    ANYBIT_BUILD=build/release PYTHONPATH=build/onert python scripts/compare_onert.py

Every call of nnfw.h runs in every state of both, with right and wrong arguments, on the model y = x + x: a tflite file for onert, an
ONNX file for anybit. Differences that docs/from-onert.md describes are listed with their reasons; any other is a failure.
"""

import ctypes
import os
import pathlib
import sys
import tempfile

import flatbuffers
import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "build" / "onert"

STATUS = ["NO_ERROR", "ERROR", "UNEXPECTED_NULL", "INVALID_STATE", "OUT_OF_MEMORY", "INSUFFICIENT_OUTPUT_SIZE", "DEPRECATED_API"]
STATES = ["created", "loaded", "prepared", "ran"]
# The element types: tflite's, ONNX's. uint8 of tflite is always a quantized type.
TYPES = {"float32": (tflite.TensorType.FLOAT32, TensorProto.FLOAT), "int32": (tflite.TensorType.INT32, TensorProto.INT32),
         "bool": (tflite.TensorType.BOOL, TensorProto.BOOL),
         "int64": (tflite.TensorType.INT64, TensorProto.INT64)}


class TensorInfo(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("dims", ctypes.c_int32 * 6)]


def vector(builder, items):
    builder.StartVector(4, len(items), 4)
    for one in reversed(items):
        builder.PrependUOffsetTRelative(one)
    return builder.EndVector()


def integers(builder, numbers):
    builder.StartVector(4, len(numbers), 4)
    for one in reversed(numbers):
        builder.PrependInt32(one)
    return builder.EndVector()


def tflite_model(path, kind):
    """y = x + x of shape [2, 3], as a tflite file."""
    b = flatbuffers.Builder(1024)
    names = [b.CreateString(name) for name in "xy"]
    tensors = []
    for name in names:
        shape = integers(b, [2, 3])
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, kind)
        tflite.TensorAddBuffer(b, 0)
        tflite.TensorAddName(b, name)
        tensors.append(tflite.TensorEnd(b))
    tflite.AddOptionsStart(b)
    options = tflite.AddOptionsEnd(b)
    inputs, outputs = integers(b, [0, 0]), integers(b, [1])
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, 0)
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    tflite.OperatorAddBuiltinOptionsType(b, tflite.BuiltinOptions.AddOptions)
    tflite.OperatorAddBuiltinOptions(b, options)
    operators = vector(b, [tflite.OperatorEnd(b)])
    all_tensors, ins, outs = vector(b, tensors), integers(b, [0]), integers(b, [1])
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, all_tensors)
    tflite.SubGraphAddInputs(b, ins)
    tflite.SubGraphAddOutputs(b, outs)
    tflite.SubGraphAddOperators(b, operators)
    graphs = vector(b, [tflite.SubGraphEnd(b)])
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, tflite.BuiltinOperator.ADD)
    tflite.OperatorCodeAddBuiltinCode(b, tflite.BuiltinOperator.ADD)
    tflite.OperatorCodeAddVersion(b, 1)
    used = vector(b, [tflite.OperatorCodeEnd(b)])
    tflite.BufferStart(b)
    buffers = vector(b, [tflite.BufferEnd(b)])
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddOperatorCodes(b, used)
    tflite.ModelAddSubgraphs(b, graphs)
    tflite.ModelAddBuffers(b, buffers)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    path.write_bytes(bytes(b.Output()))
    return path


def onnx_model(path, kind):
    x, y = (helper.make_tensor_value_info(name, kind, [2, 3]) for name in "xy")
    node = helper.make_node("Add", ["x", "x"], ["y"]) if kind != TensorProto.BOOL else helper.make_node("Or", ["x", "x"], ["y"])
    onnx.save(helper.make_model(helper.make_graph([node], "sum", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


class Subject:
    """One of the two libraries, with its model."""

    def __init__(self, library, model):
        self.library, self.model = ctypes.CDLL(str(library)), str(model).encode()
        self.x, self.y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)

    def has(self, name):
        return hasattr(self.library, f"nnfw_{name}")

    def session(self, state, folder):
        handle = ctypes.c_void_p()
        assert self.call(None, "create_session", ctypes.byref(handle)) == 0
        steps = [("set_workspace", str(folder).encode())]
        if state != "created":
            steps.append(("load_model_from_file", self.model))
        if state in ("prepared", "ran"):
            steps.append(("prepare",))
        if state == "ran":
            steps += [("set_input", 0, 0, self.x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(24)),
                      ("set_output", 0, 0, self.y.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(24)), ("run",)]
        for step in steps:
            assert self.call(handle, *step) == 0, step
        return handle

    def call(self, handle, name, *words):
        function = getattr(self.library, f"nnfw_{name}")
        return function(*([] if name == "create_session" else [handle]), *words)


def cases(subject):
    """(label, call, arguments): right and wrong."""
    info, number, text = TensorInfo(0, 2, (2, 3)), ctypes.c_uint32(), ctypes.create_string_buffer(1000)
    bad, zero, size = TensorInfo(0, 7), TensorInfo(0, 2, (0, 3)), ctypes.c_size_t
    x, y = (one.ctypes.data_as(ctypes.c_void_p) for one in (subject.x, subject.y))
    ref = ctypes.byref
    return [
        ("load", "load_model_from_file", subject.model), ("load nothing", "load_model_from_file", b"/nothing.tflite"),
        ("load NULL", "load_model_from_file", None), ("workspace", "set_workspace", b"/tmp"), ("workspace NULL", "set_workspace", None),
        ("prepare", "prepare"), ("run", "run"), ("await", "await"), ("input_size", "input_size", ref(number)),
        ("output_size", "output_size", ref(number)), ("input_size NULL", "input_size", None), ("output_size NULL", "output_size", None),
        ("input_tensorinfo", "input_tensorinfo", 0, ref(info)), ("input_tensorinfo 1", "input_tensorinfo", 1, ref(info)),
        ("input_tensorinfo NULL", "input_tensorinfo", 0, None), ("output_tensorinfo", "output_tensorinfo", 0, ref(info)),
        ("output_tensorinfo 1", "output_tensorinfo", 1, ref(info)), ("output_tensorinfo NULL", "output_tensorinfo", 0, None),
        ("set_input_tensorinfo", "set_input_tensorinfo", 0, ref(info)), ("set_input_tensorinfo NULL", "set_input_tensorinfo", 0, None),
        ("set_input_tensorinfo rank 7", "set_input_tensorinfo", 0, ref(bad)), ("set_input_tensorinfo dim 0", "set_input_tensorinfo", 0, ref(zero)),
        ("set_input", "set_input", 0, 0, x, size(24)), ("set_input 1", "set_input", 1, 0, x, size(24)),
        ("set_input longer", "set_input", 0, 0, x, size(28)), ("set_input short", "set_input", 0, 0, x, size(20)),
        ("set_input NULL 24", "set_input", 0, 0, None, size(24)), ("set_input NULL 0", "set_input", 0, 0, None, size(0)),
        ("set_output", "set_output", 0, 0, y, size(24)), ("set_output 1", "set_output", 1, 0, y, size(24)),
        ("set_output longer", "set_output", 0, 0, y, size(28)), ("set_output short", "set_output", 0, 0, y, size(20)),
        ("set_output NULL 24", "set_output", 0, 0, None, size(24)), ("set_output NULL 0", "set_output", 0, 0, None, size(0)),
        ("layout none", "set_input_layout", 0, 0), ("layout 9", "set_input_layout", 0, 9), ("output layout none", "set_output_layout", 0, 0),
        ("input_type float32", "set_input_type", 0, 0), ("input_type int32", "set_input_type", 0, 1), ("output_type float32", "set_output_type", 0, 0),
        ("backends cpu", "set_available_backends", b"cpu"), ("backends NULL", "set_available_backends", None),
        ("op_backend", "set_op_backend", b"Add", b"cpu"), ("apply_tensorinfo", "apply_tensorinfo", 0, info),
        ("version", "query_info_u32", 0, ref(number)), ("version NULL", "query_info_u32", 0, None), ("info 1", "query_info_u32", 1, ref(number)),
        ("tensorindex x", "input_tensorindex", b"x", ref(number)), ("tensorindex y", "output_tensorindex", b"y", ref(number)),
        ("tensorindex nothing", "input_tensorindex", b"nothing", ref(number)), ("tensorindex NULL", "input_tensorindex", None, ref(number)),
        ("pipeline", "prepare_pipeline", None), ("push", "push_pipeline_input", None, None), ("pop", "pop_pipeline_output", None),
        ("type U8", "set_quantization_type", 1), ("type WO_I16", "set_quantization_type", 4), ("type not set", "set_quantization_type", 0),
        ("quantized path", "set_quantized_model_path", b"q.circle"), ("codegen path", "set_codegen_model_path", b"c.abc"),
        ("codegen no target", "codegen", b"abc", 0), ("codegen unknown target", "codegen", b"abc-gen", 0), ("codegen pref 9", "codegen", b"abc-gen", 9),
        ("execute minmax", "set_execute_config", 0, None), ("execute trace", "set_execute_config", 1, None), ("execute profile", "set_execute_config", 2, None),
        ("execute 9", "set_execute_config", 9, None), ("execute reset", "reset_execute_config"), ("prepare profile", "set_prepare_config", 0, None),
        ("prepare 9", "set_prepare_config", 9, None), ("prepare reset", "reset_prepare_config"),
        ("message", "get_last_error_message", text, size(1000)), ("message NULL", "get_last_error_message", None, size(1000)),
    ]


# Differences that docs/from-onert.md describes: (label, states) and why.
EXPECTED = {
    "backends cpu": "also after prepare, as onert's guide writes it",
    "backends NULL": "also after prepare, as onert's guide writes it",
    "set_input short": "an error of the call",
    "set_output short": "an error of the call",
    "type not set": "ERROR instead of INVALID_STATE",
    "execute profile": "refused: no call returns a profile",
    "prepare profile": "refused: nothing is chosen by it",
    "layout none": "also before prepare, as in newer versions of onert",
    "layout 9": "also before prepare, as in newer versions of onert",
    "output layout none": "also before prepare, as in newer versions of onert",
    **dict.fromkeys(["op_backend", "apply_tensorinfo", "pipeline", "push", "pop"], "as in newer versions of onert"),
}


# onert's library ends the process here.
CRASHES = {"tensorindex x", "tensorindex y", "tensorindex nothing", "tensorindex NULL"}


def statuses(subject, folder):
    found = {}
    for case in cases(subject):
        label, name, *words = case
        if not subject.has(name):
            continue
        found[label, "NULL session"] = subject.call(None, name, *words)
        for state in STATES[label in CRASHES:]:
            handle = subject.session(state, folder)
            found[label, state] = subject.call(handle, name, *words)
            subject.call(handle, "close_session")
    return found


def dtypes(make, folder, library, column, suffix):
    found = {}
    for name, kinds in TYPES.items():
        subject = Subject(library, make(folder / f"{name}{suffix}", kinds[column]))
        handle, info = subject.session("loaded", folder), TensorInfo()
        assert subject.call(handle, "input_tensorinfo", 0, ctypes.byref(info)) == 0
        found[name] = (info.dtype, info.rank, *info.dims[:2])
        subject.call(handle, "close_session")
    return found


def main():
    ours = pathlib.Path(os.environ["ANYBIT_BUILD"]).resolve() / "lib" / "libnnfw-anybit.so"
    theirs = PACKAGES / "onert" / "native" / "libonert.so"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        a = Subject(theirs, tflite_model(folder / "m.tflite", tflite.TensorType.FLOAT32))
        b = Subject(ours, onnx_model(folder / "m.onnx", TensorProto.FLOAT))
        left, right = statuses(a, folder), statuses(b, folder)
        for subject in (a, b):
            subject.session("ran", folder)
        assert a.y.tolist() == b.y.tolist() == [0, 2, 4, 6, 8, 10]
        types = dtypes(tflite_model, folder, theirs, 0, ".tflite"), dtypes(onnx_model, folder, ours, 1, ".onnx")
    same, known, unknown = 0, [], []
    for key, status in left.items():
        if right[key] == status:
            same += 1
            continue
        line = f"{key[0]}, {key[1]}: onert {STATUS[status]}, anybit {STATUS[right[key]]}"
        (known if key[0] in EXPECTED else unknown).append(line + (f" ({EXPECTED[key[0]]})" if key[0] in EXPECTED else ""))
    print(f"{same} of {len(left)} statuses agree; {len(known)} differ as documented; {len(unknown)} differ")
    print("\n".join(f"  documented: {line}" for line in known))
    print("\n".join(f"  NOT EXPECTED: {line}" for line in unknown))
    print("element types and shapes:", "agree" if types[0] == types[1] else types)
    return 1 if unknown or types[0] != types[1] else 0


if __name__ == "__main__":
    sys.exit(main())
