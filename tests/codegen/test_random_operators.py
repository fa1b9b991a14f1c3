"""Operators with random shapes and attributes as C, compared with the runtime."""
from pathlib import Path

import numpy as np
import pytest
from support import generating

ROOT = Path(__file__).resolve().parents[2]
from support.executing import Executor
from support.one_node import model_of

SEED = 20
COUNT = 12  # per operator


def window(random, axes, transposed=False):
    kernel = random.integers(1, 5, axes)
    attributes = {"kernel_shape": kernel, "strides": random.integers(1, 4, axes), "dilations": random.integers(1, 3, axes)}
    pads = random.integers(0, 3, 2 * axes)
    # The padding of a pool must be smaller than the kernel.
    attributes["pads"] = np.minimum(pads, np.tile((kernel - 1) * attributes["dilations"], 2)) if not transposed else pads
    return attributes


def space(random, attributes, axes):
    """Sizes that hold at least one window."""
    extent = (attributes["kernel_shape"] - 1) * attributes["dilations"] + 1
    least = np.maximum(extent - attributes["pads"][:axes] - attributes["pads"][axes:], 1)
    return least + random.integers(0, 6, axes)


def conv(random):
    axes, groups = random.integers(1, 4), random.integers(1, 4)
    attributes = window(random, axes)
    inside, outside = random.integers(1, 4), random.integers(1, 4)
    x = random.normal(size=(random.integers(1, 3), groups * inside, *space(random, attributes, axes)))
    w = random.normal(size=(groups * outside, inside, *attributes["kernel_shape"]))
    inputs = [x, w] + [random.normal(size=groups * outside)] * random.integers(0, 2)
    return "Conv", inputs, attributes | {"group": groups}


def conv_transpose(random):
    axes, groups = random.integers(1, 3), random.integers(1, 3)
    attributes = window(random, axes, transposed=True)
    x = random.normal(size=(random.integers(1, 3), groups * 2, *random.integers(3, 6, axes)))
    w = random.normal(size=(groups * 2, 3, *attributes["kernel_shape"]))
    attributes["pads"] = np.minimum(attributes["pads"], np.tile(attributes["kernel_shape"] - 1, 2) // 2)
    return "ConvTranspose", [x, w], attributes | {"group": groups}


def pool(name):
    def make(random):
        axes = random.integers(1, 4)
        attributes = window(random, axes)
        x = random.normal(size=(2, 3, *space(random, attributes, axes)))
        attributes["ceil_mode"] = random.integers(0, 2)
        if name == "AveragePool":
            attributes["count_include_pad"] = random.integers(0, 2)
        return name, [x], attributes
    return make


def pair(name):
    def make(random):
        dims = random.integers(1, 5, random.integers(1, 5))
        a, b = (np.where(random.integers(0, 3, len(dims)) == 0, 1, dims) for _ in range(2))
        cut = random.integers(0, len(dims))
        return name, [random.normal(size=a), random.normal(size=b[cut:])], {}
    return make


def matmul(random):
    batch = random.integers(1, 4, random.integers(0, 3))
    m, n, k = random.integers(1, 10, 3)
    a, b = (np.where(random.integers(0, 2, len(batch)) == 0, 1, batch) for _ in range(2))
    return "MatMul", [random.normal(size=(*a, m, k)), random.normal(size=(*b[random.integers(0, len(b) + 1):], k, n))], {}


def gemm(random):
    m, n, k = random.integers(1, 10, 3)
    turn_a, turn_b = random.integers(0, 2, 2)
    inputs = [random.normal(size=(k, m) if turn_a else (m, k)), random.normal(size=(n, k) if turn_b else (k, n)),
              random.normal(size=[(n,), (m, 1), (m, n), ()][random.integers(0, 4)])]
    return "Gemm", inputs, {"transA": turn_a, "transB": turn_b, "alpha": 1.5, "beta": float(random.integers(0, 3))}


def transpose(random):
    rank = random.integers(1, 6)
    return "Transpose", [random.normal(size=random.integers(1, 5, rank))], {"perm": random.permutation(rank)}


def gather(random):
    x = random.normal(size=random.integers(2, 5, 3))
    axis = random.integers(0, 3)
    size = x.shape[axis]
    return "Gather", [x, random.integers(-size, size, random.integers(1, 4, random.integers(0, 3)))], {"axis": axis}


MAKERS = {"conv": conv, "conv_transpose": conv_transpose, "max_pool": pool("MaxPool"), "average_pool": pool("AveragePool"),
          "add": pair("Add"), "div": pair("Div"), "matmul": matmul, "gemm": gemm, "transpose": transpose, "gather": gather}


def made():
    """{name: (model, inputs, outputs of the runtime)}"""
    found = {}
    for number, (name, make) in enumerate(MAKERS.items()):
        random = np.random.default_rng([SEED, number])
        for i in range(COUNT):
            op, inputs, attributes = make(random)
            inputs = [np.asarray(x, np.int64 if np.asarray(x).dtype.kind == "i" else np.float32) for x in inputs]
            attributes = {key: value.tolist() if isinstance(value, np.ndarray | np.integer) else value for key, value in attributes.items()}
            model = model_of(op, inputs, **attributes)
            found[f"{name}_{i}"] = model, inputs, Executor(model).run(inputs)
    return found


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory):
    folder, cases = tmp_path_factory.mktemp("random"), made()
    for name, (model, _, _) in cases.items():
        generating.generate(model, folder / f"{name}.c")
    return cases, generating.compile_all(list(cases), folder)


@pytest.mark.parametrize("operator", MAKERS)
def test_random_shapes_and_attributes_match_the_runtime(operator, all_of_them):
    cases, programs = all_of_them
    for i in range(COUNT):
        model, inputs, wanted = cases[f"{operator}_{i}"]
        for got, other in zip(programs[f"{operator}_{i}"].run(inputs, wanted), wanted):
            np.testing.assert_allclose(got, other, 1e-4, 1e-5, err_msg=f"seed {SEED}, case {i}:\n{model.graph.node[0]}")


def test_an_index_out_of_range_is_clamped(tmp_path):
    """Generated code cannot report errors, and must not access memory outside of the tensor."""
    x, indices = np.arange(5, dtype=np.float32), np.array([-9, -5, 4, 5, 2**40])
    model = model_of("Gather", [x, indices])
    generating.generate(model, tmp_path / "beyond.c")
    got, = generating.compile_all(["beyond"], tmp_path)["beyond"].run([x, indices], [x])
    np.testing.assert_array_equal(got, [0, 0, 4, 4, 4])


def test_a_length_beyond_the_sequence_is_clamped(tmp_path):
    x, lengths = np.arange(8, dtype=np.float32).reshape(2, 4), np.array([2**40, -3])
    model = model_of("ReverseSequence", [x, lengths], time_axis=1, batch_axis=0)
    generating.generate(model, tmp_path / "long.c")
    got, = generating.compile_all(["long"], tmp_path)["long"].run([x, lengths], [x])
    np.testing.assert_array_equal(got, [[3, 2, 1, 0], [4, 5, 6, 7]])
