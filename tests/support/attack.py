"""Shared by the hostile tests: a hand-written protobuf encoder, small models, and runs of the loader with limits."""

import os
import resource
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

CPU_SECONDS = 2
MEMORY = 300 * 2**20
HANG_SECONDS = 120


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    return tag(field, 0) + varint(value % 2**64)


def block(field: int, payload: bytes) -> bytes:
    return tag(field, 2) + varint(len(payload)) + payload


def nested(fields: list[int], times: int) -> bytes:
    """Nested messages with repeating field numbers; built from the innermost outwards, in linear time."""
    parts, length = [], 0
    for i in reversed(range(times * len(fields))):
        head = tag(fields[i % len(fields)], 2) + varint(length)
        parts.append(head)
        length += len(head)
    return b"".join(reversed(parts))


def around(graph: bytes) -> bytes:
    """A model of IR 8 and opset 17 around the fields of a graph."""
    return number(1, 8) + block(7, graph) + block(8, number(2, 17))


def small_model() -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    w = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    nodes = [helper.make_node("Relu", ["x"], ["h"], "/relu"), helper.make_node("Add", ["h", "w"], ["y"], "/add")]
    graph = helper.make_graph(nodes, "main", [x], [y], [w])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def external_model(location: str, offset=None, length=None, count: int = 4) -> bytes:
    """The small model with its initializer 'w', of `count` floats, in an external file."""
    model = small_model()
    w = model.graph.initializer[0]
    w.ClearField("raw_data")
    w.dims[:] = [count]
    w.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value is not None:
            w.external_data.add(key=key, value=str(value))
    return model.SerializeToString()


@dataclass
class Outcome:
    errors: dict[int, str]  # by the index of the input: "code: position: message"
    cpu: float


class Loader:
    """Runs the round trip over many inputs in one process; checks how it exits and measures its cost."""

    def __init__(self, program: Path, folder: Path):
        self.program, self.folder = program, folder
        self.sanitized = "san" in str(program)

    def run(self, inputs: list[bytes | Path], memory: int | None = None) -> Outcome:
        paths = []
        for i, data in enumerate(inputs):
            path = data if isinstance(data, Path) else self.folder / f"in{i}.onnx"
            if not isinstance(data, Path):
                path.write_bytes(data)
            paths.append(path)
        lines = "".join(f"{path}\t{self.output(i)}\n" for i, path in enumerate(paths))
        status, usage, out, err = self._watched(lines, memory)
        assert not os.WIFSIGNALED(status), f"killed by signal {os.WTERMSIG(status)}: {err[-2000:]}"
        assert os.WEXITSTATUS(status) in (0, 1), f"exit code {os.WEXITSTATUS(status)}: {err[-2000:]}"
        said = dict(line.split(": ", 1) for line in out.splitlines() if line.startswith(f"{self.folder}/"))
        errors = {i: said[str(path)] for i, path in enumerate(paths) if str(path) in said}
        return Outcome(errors, usage.ru_utime + usage.ru_stime)

    def output(self, index: int) -> Path:
        return self.folder / f"out{index}.onnx"

    def refuse(self, data: bytes | Path, *expected: str) -> str:
        """The input must be rejected, cheaply, with all of `expected` in the error."""
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        outcome = self.run([data], None if self.sanitized else MEMORY + size)  # the file itself is mapped
        assert 0 in outcome.errors, "the model was accepted"
        for text in expected:
            assert text in outcome.errors[0], outcome.errors[0]
        if not self.sanitized:
            assert outcome.cpu < CPU_SECONDS, f"took {outcome.cpu:.1f} s"
        return outcome.errors[0]

    def _watched(self, lines: str, memory: int | None):
        def limit():
            if memory is not None:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin.write(lines.encode())
            stdin.seek(0)
            command = ["timeout", "-s", "KILL", str(HANG_SECONDS), str(self.program)]
            process = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err, preexec_fn=limit)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            out.seek(0)
            err.seek(0)
            return status, usage, out.read().decode(errors="replace"), err.read().decode(errors="replace")
