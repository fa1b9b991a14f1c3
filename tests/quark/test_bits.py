"""AMD Quark's operators: the same bits as in its own library, on thousands of hard tensors for each format."""
import os

import numpy as np
import pytest
from onnx import TensorProto, helper
from support import quark_library
from support.executing import Executor
from support.uses import hard_values, middles

pytestmark = pytest.mark.quark
SEED = int(os.environ.get("ANYBIT_SEED", np.random.SeedSequence().entropy % 2**32))
TENSORS = int(os.environ.get("ANYBIT_TENSORS", 10_000))
NAMES = {"mx": [("MXQuantizeDequantize", "com.amd.quark"), ("MXFixNeuron", "com.vai.quantize")],
         "bfp": [("BFPQuantizeDequantize", "com.amd.quark"), ("BFPFixNeuron", "com.vai.quantize")]}

MX = [dict(element_dtype=element, rounding_mode=mode)
      for element in ("int8", "fp8_e5m2", "fp8_e4m3", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1") for mode in (0, 1, 2)]
TO_BFP = [dict(bfp_method="to_bfp", rounding_mode=mode, bit_width=bits, use_compiler_version_cpu_kernel=compiler)
          for mode in (0, 1, 2) for bits, compiler in ((16, 0), (16, 1), (10, 0), (12, 0), (24, 0))]
PRIME = [dict(bfp_method="to_bfp_prime", rounding_mode=mode, bit_width=bits, sub_block_size=sub, sub_block_shift_bits=shift)
         for mode in (0, 1, 2) for bits, sub, shift in ((16, 2, 1), (13, 2, 1), (11, 2, 1), (16, 4, 2), (24, 8, 8), (10, 1, 3))]
FORMATS = ([("mx", one) for one in MX] + [("bfp", one) for one in TO_BFP + PRIME]
           + [("bfp", one | {"convert_to_bfloat_before_bfp": 1}) for one in (TO_BFP[0], TO_BFP[12], PRIME[0])])
SHAPES = {1: [(1,), (7,), (70,), (64,)], 2: [(5, 37), (1, 1), (3, 128), (40, 3)], 3: [(2, 5, 33), (2, 40, 7)],
          4: [(2, 3, 4, 9), (1, 16, 3, 3)]}


def model_of(op, domain, rank, kind, attributes):
    node = helper.make_node(op, ["x"], ["y"], domain=domain, **attributes)
    ports = [helper.make_tensor_value_info(name, kind, [f"{name}{i}" for i in range(rank)]) for name in "xy"]
    return helper.make_model(helper.make_graph([node], "one", ports[:1], ports[1:]), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)])


def quotients(rng, shape):
    """Around the largest value of a block: ties, and numbers that round up to the next power of two."""
    near = rng.choice([127.5, 127.49999, 255.5, 63.5, 7.5, 1.9921875, 1.984375, 0.5, 1.5, 2.5, 128.5, 1.0], shape)
    return np.float32(near * rng.choice([-1, 1], shape) * 2.0 ** rng.integers(-140, 119))


def tensor(rng, shape):
    kind = rng.integers(6)
    if kind == 0:
        x = hard_values(rng, shape)
    elif kind == 1:
        x = middles(rng, shape)
    elif kind == 2:
        x = np.float32(np.ldexp(rng.standard_normal(shape), rng.integers(-150, -125, shape)))
    elif kind == 3:
        x = quotients(rng, shape)
    elif kind == 4:
        x = rng.integers(0, 2**32, shape, dtype=np.uint64).astype(np.uint32).view(np.float32)
    else:
        x = np.float32(rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 6))
    if rng.integers(3) == 0:
        x = np.where(rng.random(shape) < 0.05, rng.choice(np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0]), shape), x)
    if rng.integers(4) == 0:
        x = np.where(rng.random(shape) < 0.7, np.float32(0), x)
    return np.ascontiguousarray(x, np.float32)


def differing(got, wanted):
    kind = {2: np.uint16, 4: np.uint32}[got.dtype.itemsize]
    return np.flatnonzero(got.view(kind).ravel() != wanted.view(kind).ravel())


@pytest.mark.parametrize("family,attributes", FORMATS, ids=lambda one: "-".join(map(str, one.values())) if isinstance(one, dict) else one)
def test_no_bit_differs(family, attributes):
    print(f"ANYBIT_SEED={SEED}")
    rng = np.random.default_rng([SEED, *repr((family, attributes)).encode()])
    done = 0
    while done < TENSORS:
        op, domain = NAMES[family][rng.integers(2)]
        rank = int(rng.integers(1, 5))
        block = int(rng.choice([8, 16, 24, 32, 64]))
        full = attributes | {"axis": int(rng.integers(-rank, rank)), "block_size": block}
        model = model_of(op, domain, rank, TensorProto.FLOAT, full)
        theirs, ours = quark_library.session(model), Executor(model.SerializeToString(), threads=1)
        for _ in range(min(500, TENSORS - done)):
            x = tensor(rng, SHAPES[rank][rng.integers(len(SHAPES[rank]))])
            [got], [wanted] = ours.run({"x": x}), theirs.run(None, {"x": x.copy()})
            bad = differing(got, wanted)
            assert bad.size == 0, f"{op} {full}: {x.shape} {[(x.ravel()[i], got.ravel()[i], wanted.ravel()[i]) for i in bad[:4]]} {x.tolist()}"
            done += 1


@pytest.mark.parametrize("family,attributes", [("mx", MX[0]), ("mx", MX[8]), ("bfp", TO_BFP[10]), ("bfp", PRIME[2])])
def test_no_bit_differs_in_float16(family, attributes):
    print(f"ANYBIT_SEED={SEED}")
    rng = np.random.default_rng([SEED, 16])
    op, domain = NAMES[family][0]
    model = model_of(op, domain, 2, TensorProto.FLOAT16, attributes | {"axis": 1, "block_size": 16})
    theirs, ours = quark_library.session(model), Executor(model.SerializeToString(), threads=1)
    for _ in range(1000):
        x = np.float16(rng.standard_normal((5, 37)) * 2.0 ** rng.integers(-14, 12))
        [got], [wanted] = ours.run({"x": x}), theirs.run(None, {"x": x})
        assert differing(got, wanted).size == 0, (got, wanted)
