"""c-gen: depthwise integer convolutions are bit-identical to the runtime for every stride, also on short rows."""
import itertools

import numpy as np
from onnx import helper
from support.executing import Executor
from support.generating import DEFAULT, PERFORMANCE, SEED, compiled, generate, model_of, random_integers


def test_depthwise_convolutions_are_bit_identical_to_the_runtime_for_every_stride(tmp_path):
    made = {}
    for number, (width, stride, left) in enumerate(itertools.product((1, 2, 7, 24), (1, 2, 3, 5), (0, 1, 4))):
        random = np.random.default_rng([SEED, number])
        kind = np.dtype([np.uint8, np.int8][number % 2])
        x, zero = random_integers(random, kind, (1, 3, 6, width)), random_integers(random, kind)
        constants = {"xs": np.float32(0.02), "xz": zero, "w": random_integers(random, np.int8, (3, 1, 3, 3)), "wz": np.int8(0),
                     "ws": np.float32(0.005), "ys": np.float32(0.5), "yz": zero}
        node = helper.make_node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], group=3, strides=[2, stride],
                                pads=[1, left, 1, 4])
        model = model_of([node], {"x": x}, constants)
        name = f"conv_{number}"
        generate(model, tmp_path / f"{name}.c", [DEFAULT, PERFORMANCE][number // 2 % 2])
        made[name] = x, Executor(model, threads=1).run({"x": x})
    for options in ([], ["-O2", "-mavx2", "-mfma"]):
        for name, program in compiled(list(made), tmp_path, *options).items():
            x, expected = made[name]
            np.testing.assert_array_equal(program.run([x], expected)[0], expected[0], err_msg=name)
