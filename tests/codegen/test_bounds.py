"""Generated code has no out-of-bounds access and no undefined behaviour: under sanitizers, with buffers of exact size."""
import subprocess

import numpy as np
from onnx import helper
from support.generating import ANYBIT, DEFAULT, HAS_VNNI, PERFORMANCE, SEED, STRICT, VNNI, calls, generate, model_of, random_integers

SIZES = [(1, 5), (1, 9), (3, 5), (7, 7)]
KINDS = [(np.uint8, np.int8), (np.int16, np.int8), (np.int16, np.int16)]


def integer_convs(random):
    for i, (height, width) in enumerate(SIZES):
        window = min(height, 3), min(width, 3)
        for k, (kernel, groups) in enumerate((((1, 1), 1), (window, 1), (window, 5))):
            x_kind, w_kind = KINDS[(i + k) % 3]
            x = random_integers(random, x_kind, (1, 5, height, width))
            constants = {"s": np.float32(0.1), "z": x_kind(0), "w": random_integers(random, w_kind, (10, 5 // groups, *kernel)), "wz": w_kind(0)}
            yield [helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "wz", "s", "z"], ["y"], group=groups,
                                    pads=[kernel[0] // 2, kernel[1] // 2] * 2, domain="" if x_kind == np.uint8 else ANYBIT)], {"x": x}, constants


def real_convs(random):
    for height, width in SIZES:
        for kernel, stride in ((1, 1), (3, 1), (3, 2)):
            shape = min(height, kernel), min(width, kernel)
            constants = {"w": random.normal(size=(6, 30, *shape)).astype(np.float32), "b": np.zeros(6, np.float32)}
            yield [helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[stride, stride], pads=[shape[0] // 2, shape[1] // 2] * 2)], {
                "x": random.normal(size=(1, 30, height, width)).astype(np.float32)}, constants


def matmuls(random):
    for (m, k, n), (a_kind, b_kind) in zip(((1, 5, 3), (3, 9, 17), (7, 2, 1)), KINDS):
        constants = {"s": np.float32(0.1), "z": a_kind(0), "b": random_integers(random, b_kind, (k, n)), "bz": b_kind(0)}
        yield [helper.make_node("QLinearMatMul", ["a", "s", "z", "b", "s", "bz", "s", "z"], ["y"])], {"a": random_integers(random, a_kind, (m, k))}, constants


def test_matmuls_and_convolutions_stay_within_their_arrays(tmp_path):
    random = np.random.default_rng(SEED)
    body, names = "", []
    for case in (*integer_convs(random), *real_convs(random), *matmuls(random)):
        name = f"net{len(names)}"
        generate(model_of(*case), tmp_path / f"{name}.c", [DEFAULT, PERFORMANCE][len(names) % 2])
        body += calls(name, (tmp_path / f"{name}.h").read_text())
        names.append(name)
    includes = "".join(f'#include "{name}.h"\n' for name in names)
    (tmp_path / "main.c").write_text(f"#include <stdlib.h>\n{includes}int main(void) {{\n{body}  return 0;\n}}\n")
    for options in (["-mavx2"], [], *([VNNI] if HAS_VNNI else [])):
        command = ["gcc", *STRICT, "-g1", "-O1", *options, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "main.c",
                   *(f"{name}.c" for name in names), "-o", "main", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
