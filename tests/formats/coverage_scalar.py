"""Scalar formats, each with the test that compares it with a peer or with the exact reference."""

from support import peers, scalar_cases

COVERED = {name: "test_scalar_formats.py" for name in scalar_cases.NAMES} | {name: "test_against_peers.py" for name in peers.DTYPES}
