"""A detector whose one output has box coordinates in pixels beside scores, and samples for it."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SEED = 7
CLASSES, ANCHORS = 12, 64


def write_detector(path):
    """Writes detector.onnx and samples/, in which some anchors hold an object."""
    random = np.random.default_rng(SEED)
    boxes = random.normal(0, 0.3, (4, 8, 1)).astype(np.float32)
    scores = np.zeros((CLASSES, 8, 1), np.float32)
    scores[np.arange(CLASSES), np.arange(CLASSES) % 8] = 3
    constants = {"w_boxes": boxes, "w_scores": scores, "b_scores": np.full(CLASSES, -6, np.float32), "pixels": np.float32(640)}
    nodes = [
        helper.make_node("Conv", ["x", "w_boxes"], ["raw"], name="head/boxes"),
        helper.make_node("Sigmoid", ["raw"], ["unit"], name="head/unit"),
        helper.make_node("Mul", ["unit", "pixels"], ["boxes"], name="head/decode"),
        helper.make_node("Conv", ["x", "w_scores", "b_scores"], ["logits"], name="head/scores"),
        helper.make_node("Sigmoid", ["logits"], ["scores"], name="head/sigmoid"),
        helper.make_node("Concat", ["boxes", "scores"], ["found"], axis=1, name="head/concat"),
    ]
    graph = helper.make_graph(
        nodes, "detector", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, ANCHORS])],
        [helper.make_tensor_value_info("found", TensorProto.FLOAT, [1, 4 + CLASSES, ANCHORS])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path / "detector.onnx")
    (path / "samples").mkdir()
    for i in range(6):
        sample = random.normal(0, 0.5, (1, 8, ANCHORS)).astype(np.float32)
        for anchor in random.choice(ANCHORS, 5, replace=False):
            sample[0, random.integers(8), anchor] = 3
        np.save(path / "samples" / f"{i}.npy", sample)
