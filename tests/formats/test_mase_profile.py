"""The formats with profile=mase against MASE's rules in numpy (reference_mase.py), and what their codes hold.
bench/bench_mase.py compares them with MASE's own quantizers."""

import numpy as np
import pytest
from support import mase_cases, reference_mase
from support.portable_functions import FunctionError, decode_model, quantize

COUNT = 20_000


@pytest.fixture(scope="module")
def cases():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {seed}")
    with np.errstate(all="ignore"):
        return list(mase_cases.cases(np.random.default_rng(seed), COUNT))


@pytest.fixture(scope="module", params=mase_cases.QUANTIZERS)
def scheme(request, cases):
    """(use, arguments, input) of every case of a scheme."""
    print(request.param)
    return request.param, [(use, arguments, x) for use, name, arguments, x in cases if name == request.param]


def test_values_are_those_of_the_rules(scheme):
    name, cases = scheme
    rules = getattr(reference_mase, name)
    for use, arguments, x in cases:
        with np.errstate(over="ignore", invalid="ignore"):
            wanted, given = rules(x, **arguments), quantize(use, x)
        # Where MASE leaves float32, the largest number stands for infinity.
        differ = np.isfinite(wanted) & (wanted != given)
        shown = [(float(x[at]).hex(), given[at], wanted[at]) for at in zip(*[axis[:3] for axis in np.nonzero(differ)])]
        assert not differ.any(), f"{use}: {differ.sum()} differ: (number, value, expected) {shown}"


def test_codes_hold_the_same_values_except_tiny_ones(scheme):
    _, cases = scheme
    for use, _, x in cases:
        if " width=24" in use or " width=32" in use:
            with pytest.raises(FunctionError, match="not stored as codes"):
                decode_model(use, x)
            continue
        _, decoded = decode_model(use, x)
        quantized = quantize(use, x)
        passed = (np.abs(x) <= 1e-8) & (quantized == x)
        differ = ~passed & (decoded != quantized)
        assert not differ.any(), f"{use}: {x[differ][:3]} became {decoded[differ][:3]}, not {quantized[differ][:3]}"
        assert (np.abs(decoded[passed]) < 1.5e-8).all(), use


@pytest.mark.parametrize("use, x, ours, mase", [
    # The difference from the default: an example of each, as in docs/from-mase.md.
    ("minifloat_ieee width=8 exponent_width=4", 1.95, 2.0, 1.875),
    ("minifloat_ieee width=8 exponent_width=4", 3e-9, 0.0, 3e-9),
    ("minifloat_denorm width=8 exponent_width=4", 1.0, 1.0, 0.875),
    ("log width=4", 0.0, 0.125, 0.125),
    ("log width=4", -0.01, -0.125, 0.125),
    ("log width=4", 1.41, 1.0, 2.0),
    ("block_fp width=4 block_size=4", 1.0, 1.0, 0.875),
    ("block_minifloat width=8 exponent_width=4 block_size=4", 0.4, 0.40625, 0.5),
])
def test_the_difference_from_the_default_in_one_number(use, x, ours, mase):
    assert quantize(use, [x])[0] == np.float32(ours)
    assert quantize(f"{use} profile=mase", [x])[0] == np.float32(mase)


def test_the_bias_of_a_block_of_powers_follows_the_maximum_rounded_up():
    x = np.float32([2.5, 0.016])
    assert quantize("block_log width=4 block_size=4", x)[1] == np.float32(0.015625)
    assert quantize("block_log width=4 block_size=4 profile=mase", x)[1] == np.float32(0.03125)


def test_a_group_is_an_index_of_the_first_axis():
    x = np.float32([[1, 0.5, -0.25], [8, 4, -2]])
    assert np.array_equal(quantize("binary bipolar=false profile=mase", x), np.float32([[1.75 / 3] * 2 + [0], [14 / 3] * 2 + [0]]))
    assert np.array_equal(quantize("ternary profile=mase", x), np.float32([[1, 1, 0], [1, 1, 0]]))
    assert np.array_equal(quantize("ternary", x), np.float32([[0, 0, 0], [1, 1, -1]]))


def test_a_group_that_is_given_is_kept():
    x = np.float32([[1, 0.5, -0.25], [8, 4, -2]])
    assert np.array_equal(quantize("ternary profile=mase granularity=tensor", x), quantize("ternary", x))


def test_infinity_is_the_largest_value_and_nan_is_what_zero_is():
    x = np.float32([np.inf, -np.inf, np.nan])
    assert quantize("minifloat_ieee profile=mase", x).tolist() == [480, -480, 0]
    assert quantize("minifloat_denorm profile=mase", x).tolist() == [224, -224, 0]
    assert quantize("log width=4 profile=mase", x).tolist() == [16, -16, 0.125]
