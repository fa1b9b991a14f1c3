"""Seeds for fuzz_generate: the small models of the onnx package, with their small inputs as constants. Run: generate_seeds.py FOLDER."""

import sys
from pathlib import Path

import onnx
from onnx import numpy_helper

LARGEST = 1500

data = Path(onnx.__file__).parent / "backend/test/data"
target = Path(sys.argv[1])
for path in sorted(data.glob("node/*/model.onnx")):
    model = onnx.load(path, load_external_data=False)
    for i, port in enumerate(list(model.graph.input)):
        file = path.parent / f"test_data_set_0/input_{i}.pb"
        if i == 0 or not port.type.HasField("tensor_type") or not file.is_file():
            continue
        value = onnx.TensorProto.FromString(file.read_bytes())
        value.name = port.name
        model.graph.initializer.append(numpy_helper.from_array(numpy_helper.to_array(value), port.name))
        model.graph.input.remove(port)
    if model.ByteSize() <= LARGEST:
        (target / f"{path.parent.name}.onnx").write_bytes(model.SerializeToString())
