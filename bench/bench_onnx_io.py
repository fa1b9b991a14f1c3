"""Loading and saving models with anybit and with the onnx Python package: `make bench-io`.

Both run in turns; each number is the best of many rounds. anybit verifies the model and maps weights instead of reading
them (the rows "load + save" include reading them); it writes a temporary file, flushes it, renames it and flushes the
folder. The onnx package does none of this; its search for external data is off. In memory, flushing costs nothing; on
disk it costs more than everything else, so there the onnx package saves by the same steps.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / os.environ.get("ANYBIT_BUILD", "build/release") / "bin/bench_onnx_io"
SPACE = 3 << 30
SECONDS = 1  # of rounds, at least: short operations are measured many times


def folder_in_memory():
    """A writable folder of a file system in memory with enough space, or None."""
    memory = {line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "tmpfs"}
    for name in [os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), *sorted(memory)]:
        if name in memory and os.access(name, os.W_OK):
            room = os.statvfs(name)
            if room.f_bavail * room.f_frsize > SPACE:
                return Path(name)
    return None


def generated(folder):
    """200 MB in fifty tensors."""
    values = np.random.default_rng(1).integers(0, 256, 4_000_000, np.uint8).tobytes()
    weights = [TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1_000_000], raw_data=values)
               for i in range(50)]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1_000_000]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w0"], ["y"])], "g", info[:1], info[1:], weights)
    path = folder / "generated.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


class Peer:
    name = "onnx"

    def __init__(self, safely):
        self.safely = safely

    def save(self, model, path):
        if not self.safely:
            onnx.save(model, path)
            return
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
            onnx.save(model, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def measure(self, what, paths, folder):
        targets = [str(folder / f"{i}.onnx") for i in range(len(paths))]
        models = [onnx.load(path, load_external_data=False) for path in paths] if what == "save" else []
        start = time.perf_counter()
        if what == "load":
            for path in paths:
                onnx.load(path, load_external_data=False)
        elif what == "save":
            for model, target in zip(models, targets):
                self.save(model, target)
        else:
            for path, target in zip(paths, targets):
                self.save(onnx.load(path, load_external_data=False), target)
        return time.perf_counter() - start


class Ours:
    name = "anybit"

    def __init__(self, scratch):
        self.list = scratch / "list"
        self.program = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, what, paths, folder):
        self.list.write_text("".join(f"{path}\n" for path in paths))
        self.program.stdin.write(f"{what}\t{self.list}\t{folder}\n")
        self.program.stdin.flush()
        return float(self.program.stdout.readline())


def best(runtimes, what, paths, folder, rounds):
    times = {runtime.name: [] for runtime in runtimes}
    end = time.perf_counter() + SECONDS
    while rounds > 0 or time.perf_counter() < end:
        rounds -= 1
        for runtime in runtimes:
            times[runtime.name].append(runtime.measure(what, paths, folder))
    return [min(times[runtime.name]) for runtime in runtimes]


def table(title, folder, sets, safely, rounds):
    print(f"\n{title}\n{'models':36}{'':13}{'onnx':>12}{'anybit':>12}{'onnx / anybit':>16}")
    worst = float("inf")
    with tempfile.TemporaryDirectory(dir=folder, prefix="anybit-bench-") as name:
        scratch = Path(name)
        runtimes = [Peer(safely), Ours(scratch)]
        sets = {**sets, "generated, 200 MB": [generated(scratch)]}
        for label, paths in sets.items():
            (scratch / "out").mkdir(exist_ok=True)
            for what, row in (("load", "load"), ("save", "save"), ("both", "load + save")):
                peer, ours = best(runtimes, what, paths, scratch / "out", rounds)
                if what == "both":
                    worst = min(worst, peer / ours)
                print(f"{label:36}{row:13}{peer * 1e3:9.2f} ms{ours * 1e3:9.2f} ms{peer / ours:15.2f}×", flush=True)
    return worst


def main():
    backend = sorted((Path(onnx.__file__).parent / "backend/test/data").rglob("*.onnx"))
    sets = {f"{len(backend)} small models": backend}
    for path in sorted((ROOT / "build/models").glob("*.onnx")):
        sets[path.name] = [path]
    worst = []
    memory = folder_in_memory()
    if memory:
        worst.append(table(f"In memory ({memory})", memory, sets, safely=False, rounds=9))
    else:
        print("No file system in memory found: its rows are left out.", file=sys.stderr)
    disk = ROOT / "build"
    worst.append(table("On disk, both flush and rename", disk, sets, safely=True, rounds=3))
    print(f"\nThe smallest ratio of load + save is {min(worst):.2f}×.")


if __name__ == "__main__":
    main()
