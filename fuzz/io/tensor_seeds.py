"""Seeds for fuzz_tensor: tensors of the onnx package, and models with external data. Run: tensor_seeds.py FOLDER."""

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, helper, numpy_helper

LARGEST = 512  # libFuzzer finds more with small inputs

target = Path(sys.argv[1])
for path in sorted((Path(onnx.__file__).parent / "backend/test/data/node").glob("*/test_data_set_0/input_0.pb"))[::10]:
    if path.stat().st_size <= LARGEST:
        (target / path.parent.parent.name).write_bytes(b"\0" + path.read_bytes())
for kind in (TensorProto.FLOAT, TensorProto.STRING, TensorProto.INT4, TensorProto.BFLOAT16, TensorProto.COMPLEX64, TensorProto.UINT8):
    values = [b"a", b"bc"] if kind == TensorProto.STRING else [1, 0]
    (target / f"type{kind}").write_bytes(b"\0" + helper.make_tensor("x", kind, [2], values).SerializeToString())
for name, entries in {"plain": {"location": "w"}, "part": {"location": "w", "offset": "64", "length": "16"},
                      "beyond": {"location": "w", "offset": "4090", "length": "16"}, "up": {"location": "../w"},
                      "missing": {"location": "v", "checksum": "0"}}.items():
    weight = numpy_helper.from_array(np.zeros(4, np.float32), "weight")
    external_data_helper.set_external_data(weight, "w")
    weight.ClearField("raw_data")
    del weight.external_data[:]
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    graph = helper.make_graph([helper.make_node("Identity", ["weight"], ["y"])], "g", [],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])], [weight])
    (target / name).write_bytes(b"\1" + helper.make_model(graph, ir_version=8).SerializeToString())
