"""Inferred types and shapes against those that the onnx package's test models declare; multiply-accumulates (MACs)
against the shapes of a run in ONNX Runtime."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from support.inspecting import inspect, nodes_of

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(onnx.__file__).parent / "backend/test/data"
NODE_MODELS = sorted(DATA.glob("node/*/model.onnx"))
LIGHT = sorted(DATA.glob("light/*.onnx"))
NAMES = {number: onnx.helper.tensor_dtype_to_np_dtype(number).name
         for number in onnx.TensorProto.DataType.values() if number != onnx.TensorProto.UNDEFINED}
NAMES[onnx.TensorProto.STRING] = "string"


def without_hints(path: Path, folder: Path) -> Path:
    """The model without value_info, which anybit would otherwise trust."""
    model = onnx.load(path, load_external_data=False)
    if not model.graph.value_info:
        return path
    del model.graph.value_info[:]
    copy = folder / f"{path.parent.name}.onnx"
    onnx.save(model, copy)
    return copy


def declared_outputs(path: Path):
    for output in onnx.load(path, load_external_data=False).graph.output:
        if not output.type.HasField("tensor_type"):
            continue
        tensor = output.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
        yield output.name, NAMES[tensor.elem_type], shape if tensor.HasField("shape") else None


@pytest.fixture(scope="module")
def inferred(tool, tmp_path_factory):
    """{model: the output of `anybit inspect --json`}"""
    folder = tmp_path_factory.mktemp("shapes")
    with ThreadPoolExecutor(2) as pool:
        said = pool.map(lambda path: inspect(tool("anybit"), without_hints(path, folder)), NODE_MODELS)
        return dict(zip(NODE_MODELS, said))


def produced(said: dict, name: str):
    for node in said["nodes"]:
        for output in node["outputs"]:
            if output["name"] == name and node["graph"] == "":
                return output
    return None


def known_models(inferred):
    return {path: said for path, said in inferred.items() if all(op["known"] for op in said["operators"])}


def test_inferred_types_and_shapes_agree_with_declared_ones(inferred):
    wrong = []
    for path, said in inferred.items():
        for name, element, shape in declared_outputs(path):
            output = produced(said, name)
            if output is None:
                continue
            if output["element_type"] not in ("", element):
                wrong.append(f"{path.parent.name}: {name} is {element}, not {output['element_type']}")
            if shape is None or output["shape"] is None:
                continue
            ours = [size if isinstance(size, int) else None for size in output["shape"]]
            agree = len(ours) == len(shape) and all(None in pair or pair[0] == pair[1] for pair in zip(ours, shape))
            if not agree:
                wrong.append(f"{path.parent.name}: {name} is {shape}, not {ours}")
    assert wrong == []


def test_no_model_of_the_onnx_package_has_a_problem(inferred):
    wrong = [f"{path.parent.name}: {problem['place']}: {problem['message']}"
             for path, said in inferred.items() for problem in said["problems"]]
    assert wrong == []


def test_most_models_have_only_known_operators(inferred):
    unknown = sorted({op["name"] for said in inferred.values() for op in said["operators"] if not op["known"]})
    assert len(known_models(inferred)) > 0.85 * len(inferred), f"not known: {unknown}"


def test_types_and_shapes_are_nearly_always_inferred(inferred):
    total = typed = ranked = fixed = 0
    for path, said in known_models(inferred).items():
        for name, _, _ in declared_outputs(path):
            output = produced(said, name)
            if output is None:
                continue
            total += 1
            typed += output["element_type"] != ""
            ranked += output["shape"] is not None
            fixed += output["shape"] is not None and all(isinstance(size, int) for size in output["shape"])
    # Some test models take the target shape as an input, so it is unknown before the run.
    assert typed > 0.97 * total and ranked > 0.9 * total and fixed > 0.8 * total, (total, typed, ranked, fixed)


def shapes_when_run(model: onnx.ModelProto, feeds: dict) -> dict:
    """The shape of every value of the main graph, from a run in ONNX Runtime."""
    names = {name for node in model.graph.node for name in [*node.input, *node.output] if name}
    shapes = {t.name: list(t.dims) for t in model.graph.initializer} | {n: list(x.shape) for n, x in feeds.items()}
    wanted = sorted(names - set(shapes) - {i.name for i in model.graph.input})
    probe = onnx.ModelProto.FromString(model.SerializeToString())
    del probe.graph.output[:]
    probe.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return shapes | {name: list(x.shape) for name, x in zip(wanted, session.run(wanted, feeds))}


def expected_macs(model: onnx.ModelProto, shapes: dict) -> int:
    total = 0
    for node in model.graph.node:
        if node.op_type == "Conv":
            total += int(np.prod(shapes[node.output[0]])) * int(np.prod(shapes[node.input[1]][1:]))
        elif node.op_type == "ConvTranspose":
            total += int(np.prod(shapes[node.input[0]])) * int(np.prod(shapes[node.input[1]][1:]))
        elif node.op_type == "MatMul":
            total += int(np.prod(shapes[node.output[0]])) * shapes[node.input[0]][-1]
        elif node.op_type == "Gemm":
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            total += int(np.prod(shapes[node.output[0]])) * shapes[node.input[0]][0 if transposed else 1]
    return total


def compare_with_a_run(program, path, feeds):
    model = onnx.load(path)
    shapes = shapes_when_run(model, feeds)
    options = [f"--input-shape={name}={','.join(map(str, x.shape))}" for name, x in feeds.items()]
    said = inspect(program, path, *options)
    assert said["problems"] == []
    assert said["macs"]["unknown_nodes"] == 0
    assert said["macs"]["total"] == expected_macs(model, shapes)
    assert sum(op["macs"] for op in said["operators"]) == said["macs"]["total"]
    wrong = {output["name"]: (output["shape"], shapes[output["name"]])
             for node in said["nodes"] for output in node["outputs"]
             if output["shape"] is not None and output["name"] in shapes and node["graph"] == ""
             and any(isinstance(a, int) and a != b for a, b in zip(output["shape"], shapes[output["name"]]))}
    assert wrong == {}
    return said


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_macs_of_a_network_match_a_run(path, tool):
    graph = onnx.load(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    feeds = {i.name: np.zeros([d.dim_value for d in i.type.tensor_type.shape.dim], np.float32)
             for i in graph.input if i.name not in constants}
    compare_with_a_run(tool("anybit"), path, feeds)


@pytest.mark.parametrize("name, shape", [("ch_PP-OCRv4_det_infer", (1, 3, 160, 224)),
                                         ("ch_PP-OCRv4_rec_infer", (2, 3, 48, 320)),
                                         ("ch_ppocr_mobile_v2.0_cls_infer", (1, 3, 48, 192))])
def test_macs_of_a_real_model_match_a_run(name, shape, tool):
    said = compare_with_a_run(tool("anybit"), ROOT / f"build/models/{name}.onnx", {"x": np.zeros(shape, np.float32)})
    assert said["macs"]["unknown_shape_nodes"] == 0


def test_the_branches_of_a_real_model_are_counted_once(tool):
    """Silero VAD selects one of two networks by the sample rate; 512 samples are a window of the 16 kHz network."""
    path = ROOT / "build/models/silero_vad_v5.onnx"
    said = inspect(tool("anybit"), path, "--input-shape=input=1,512", "--input-shape=state=2,1,128")
    spectrum = 258 * 3 * 256  # 512 samples and 64 of padding, windows of 256, steps of 128
    encoder = 128 * 3 * 129 * 3 + 64 * 2 * 128 * 3 + 64 * 1 * 64 * 3 + 128 * 1 * 64 * 3
    decoder = 4 * 128 * (128 + 128) + 128
    assert said["macs"]["unknown_nodes"] == 0
    assert said["macs"]["total"] == spectrum + encoder + decoder
    assert said["node_count"] == len(nodes_of(onnx.load(path)))
    # The network for 8 kHz does not accept this window, and `inspect` reports it.
    assert said["problems"] and all("else_branch" in problem["place"] for problem in said["problems"])
