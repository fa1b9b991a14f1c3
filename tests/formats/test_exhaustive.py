"""All 2^32 float32 numbers through the formats of 8 bits and less, compared with ml_dtypes. `make test-exhaustive`."""

import numpy as np
import pytest
from support import peers
from support.library_codecs import Codec

CHUNK = 1 << 22
CASES = [name for name in peers.DTYPES if np.dtype(peers.DTYPES[name]).itemsize == 1]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_every_float_encodes_as_in_the_peer(name):
    codec = Codec(name, saturate=False)
    values = peers.values_of(peers.DTYPES[name], codec.bits)
    for start in range(0, 1 << 32, CHUNK):
        x = np.arange(start, start + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)
        ours, theirs = codec.encode(x), peers.codes_of(peers.DTYPES[name], x)
        wrong = peers.disagreements(name, x, ours, theirs, values)
        assert wrong.size == 0, [(float(x[i]).hex(), int(ours[i]), int(theirs[i])) for i in wrong[:5]]
