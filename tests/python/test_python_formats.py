"""Every number format through ``anybit.formats``: codes and packed bytes decode to the values of quantize()."""

import numpy as np
import pytest

import anybit

SEED = 20261117
SHAPES = [(), (0,), (1,), (37,), (3, 0, 2), (5, 33), (2, 3, 17)]


def ways(name, shape):
    """Keywords of different granularities."""
    yield {}
    if anybit.formats[name].info.granularity == "element":
        return
    yield {"granularity": "tensor"}
    for axis in range(len(shape)):
        yield {"granularity": "channel", "axis": axis}
        yield {"axis": axis, "block_size": 5}
    if len(shape) > 1:
        yield {"block": (2, -1)}


@pytest.mark.parametrize("name", anybit.formats)
def test_codes_and_packed_bytes_decode_to_the_values_of_quantize(name):
    rng, format = np.random.default_rng(SEED), anybit.formats[name]
    for shape in SHAPES:
        x = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)).astype(np.float32)
        for options in ways(name, shape):
            wanted = format.quantize(x, **options)
            encoded, packed = format.encode(x, **options), format.pack(x, **options)
            for got in (encoded.decode(), packed.decode(), format.decode(encoded), format.decode(packed)):
                assert got.dtype == np.float32 and got.shape == np.shape(x), (shape, options)
                np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32), err_msg=f"{shape} {options}")
            np.testing.assert_array_equal(packed.unpack(), encoded.codes)


def test_values_that_are_not_codes_are_rejected_and_not_truncated():
    encoded = anybit.formats["int8"].encode(np.ones(3, np.float32))
    for codes, said in (([1, 65539, 0], r"value \[1\]: 65539 is out of range"), ([-1, 0, 0], "-1 is out of range"), ([1, 300, 0], "300 is not a code of 8 bits")):
        with pytest.raises(anybit.InvalidData, match=said):
            encoded.format.decode(np.array(codes), encoded.shared)
    with pytest.raises(anybit.InvalidArgument, match="codes of dtype float64"):
        encoded.format.decode(np.ones(3), encoded.shared)
    with pytest.raises(anybit.InvalidData, match="256 is out of range for packed bytes"):
        encoded.format.unpack(np.array([1, 2, 256]))


def test_a_field_of_another_type_is_named_with_its_type():
    encoded = anybit.formats["int8"].encode(np.ones(3, np.float32))
    with pytest.raises(anybit.InvalidArgument, match="'scale' has type float64"):
        encoded.format.decode(encoded.codes, {"scale": encoded.shared["scale"].astype(np.float64)})
