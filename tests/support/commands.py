"""The program's commands on a small model, in a folder of their own, and the files that they may leave there."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

# The output files of each command; files with these names exist before.
COMMANDS = {
    "inspect": (["inspect", "m.onnx", "--json"], []),
    "run": (["run", "m.onnx", "--input", "x=x.npy", "-o", ".", "--trace", "t.json"], ["y.npy", "t.json"]),
    "prepare": (["prepare", "m.onnx", "-o", "p.onnx"], ["p.onnx"]),
    "convert-opset": (["convert-opset", "m.onnx", "-o", "n.onnx"], ["n.onnx"]),
    "calibrate": (["calibrate", "m.onnx", "--data", "samples", "-o", "r.json"], ["r.json"]),
    "quantize": (["quantize", "m.onnx", "-o", "q.onnx", "--calib", "samples", "--report", "report.html"], ["q.onnx", "report.html"]),
    "compare": (["compare", "m.onnx", "m.onnx", "--data", "samples", "--report", "report.html"], ["report.html"]),
    "sensitivity": (["sensitivity", "m.onnx", "--calib", "samples", "--report", "report.html"], ["report.html"]),
    "sweep": (["sweep", "m.onnx", "--calib", "samples", "--recipes", "int8,w4", "--no-speed", "--csv", "s.csv", "--report", "report.html"], ["s.csv", "report.html"]),
    "codegen": (["codegen", "m.onnx", "-t", "c-gen", "-o", "g.c"], ["g.c", "g.h"]),
}
OLD = b"what was there before\n"
TIMED = {"t.json", "report.html"}  # contain times, so they differ between runs


def model(convolutions):
    """A MatMul and a Relu; with convolutions, two of them before."""
    random = np.random.default_rng(5)

    def weight(name, *shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    nodes, weights, last, size = [], [], "x", 192
    if convolutions:
        nodes = [helper.make_node("Conv", ["x", "k"], ["c"]), helper.make_node("Conv", ["c", "l"], ["d"])]
        weights, last, size = [weight("k", 16, 3, 3, 3), weight("l", 16, 16, 3, 3)], "d", 256
    nodes += [helper.make_node("Flatten", [last], ["f"]), helper.make_node("Gemm", ["f", "a", "b"], ["g"]),
              helper.make_node("Relu", ["g"], ["y"])]
    graph = helper.make_graph(nodes, "small", [x], [y], [*weights, weight("a", size, 4), weight("b", 4)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Folder:
    """A folder with the model, its samples, and old files in place of the command's outputs."""

    def __init__(self, path: Path, program: Path, name: str, convolutions=False):
        self.path, self.words, self.outputs = path, [str(program), *COMMANDS[name][0]], COMMANDS[name][1]
        (path / "samples").mkdir(parents=True)
        save_model(model(convolutions), path / "m.onnx")
        random = np.random.default_rng(6)
        for i in range(2):
            np.save(path / "samples" / f"{i}.npy", random.standard_normal((1, 3, 8, 8)).astype(np.float32))
        shutil.copy(path / "samples" / "0.npy", path / "x.npy")
        self.inputs = self.names()
        self.reset()
        done = self.run()
        assert done.returncode == 0, done.stderr
        self.new = {name: (path / name).read_bytes() for name in self.outputs}
        assert self.names() == self.inputs | set(self.outputs)

    def names(self):
        return {str(file.relative_to(self.path)) for file in self.path.rglob("*")}

    def reset(self):
        for file in self.path.iterdir():
            if file.name not in self.inputs:
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        for name in self.outputs:
            (self.path / name).write_bytes(OLD)

    def run(self, *before, **environment):
        """Runs the command, with a prefix."""
        return subprocess.run([*before, *self.words], cwd=self.path, env=os.environ | environment, capture_output=True, text=True,
                              timeout=600)

    def is_intact(self, name, new):
        text = (self.path / name).read_bytes()
        if text == OLD or name not in TIMED:
            return text == (self.new[name] if new else text) and text in (OLD, self.new[name])
        return text.rstrip().endswith(b"</html>") if name.endswith(".html") else isinstance(json.loads(text), dict)

    def check(self, status, stderr, about, temporary=False):
        """Checks that the command did not crash, gave a message unless it succeeded, and left complete files. `temporary`: a
        killed process may leave its temporary files, too."""
        assert status in (0, 1, 2), about
        assert status == 0 or stderr.startswith("anybit: "), about
        self.check_files(status == 0, about, temporary)

    def check_files(self, new, about, temporary):
        extra = self.names() - self.inputs - set(self.outputs)
        if temporary:
            extra = {name for name in extra if not name.startswith(".anybit-")}
        assert not extra, (about, extra)
        for name in self.outputs:
            assert self.is_intact(name, new), (about, name)
