"""Creates reports for the tests, reads their data, and opens them in a browser."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
CLASSIFIER = ROOT / "build" / "models" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
EMBEDDED = re.compile(r'<script id="anybit-report" type="application/json">([^<]*)</script>')


def data_of(page):
    """The JSON that is embedded in a page: exactly one, and without any tag in it."""
    found = EMBEDDED.findall(Path(page).read_text())
    assert len(found) == 1
    return json.loads(found[0])


class Browser:
    """A real browser, with a new page for each call."""

    def __init__(self):
        self.process = subprocess.Popen(["node", ROOT / "tests" / "web" / "browse.mjs"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def __call__(self, page, *steps, **options):
        """Answers of the steps. The page must run without errors and must not request any other resource."""
        task = {"page": str(page), "steps": [{"do": step} if isinstance(step, str) else step for step in steps], **options}
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        seen = json.loads(self.process.stdout.readline())
        assert "failed" not in seen, seen["failed"]
        assert not seen["errors"] + seen["others"], (seen["errors"], seen["others"])
        return seen["answers"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def long_model(path, nodes):
    """Blocks of three branches, with a mask that is an input of all."""
    made, weights = [], []
    rng = np.random.default_rng(0)

    def node(op, *inputs):
        made.append(helper.make_node(op, list(inputs), [f"v{len(made)}"], name=f"node{len(made)}/{op}"))
        return made[-1].output[0]

    def linear(x):
        values = (rng.standard_normal((8, 8)) * 0.3).astype(np.float32)
        weights.append(numpy_helper.from_array(values, f"w{len(weights)}"))
        return node("MatMul", x, weights[-1].name)

    x = "x"
    while len(made) < nodes - 1:
        x = node("Tanh", node("Add", node("Add", node("Relu", linear(x)), node("Tanh", linear(x))),
                              node("Mul", node("Sigmoid", x), "mask")))
    y = linear(x)
    shape = [2, 8]
    graph = helper.make_graph(made, "long", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "mask")],
                              [helper.make_tensor_value_info(y, TensorProto.FLOAT, shape)], weights)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return len(made)
