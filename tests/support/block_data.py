"""Blocks of float32 values that are hard for block formats."""

import numpy as np

TINY = np.array([0.0, -0.0, 1e-45, -1e-45, 3e-45, 1.1754942e-38, 1.1754944e-38, -5.877472e-39], np.float32)
HUGE = np.array([3e38, -3e38, 3.4028235e38, -3.4028235e38, 1.7014118e38, -1.7014118e38, 2.5e38], np.float32)


def near_powers_of_two(rng, n):
    base = np.ldexp(np.float32(1), rng.integers(-149, 128, n)).astype(np.float32)
    bits = base.view(np.uint32) + rng.integers(-1, 2, n).astype(np.uint32)
    return with_binary(rng, np.clip(bits, 0, 0x7F7FFFFF).astype(np.uint32).view(np.float32))


def with_binary(rng, x):
    return np.where(rng.integers(0, 2, x.size) == 1, -x, x).astype(np.float32)


def random_bits(rng, n):
    x = rng.integers(0, 2**32, n, dtype=np.uint64).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(x), x, np.float32(1.5))


def narrow_bits(rng, n):
    """Random significands with few set bits in neighbouring binades: ties and carries."""
    significand = rng.integers(2**11, 2**12, n) / 2.0**11
    return with_binary(rng, np.ldexp(significand, rng.integers(-6, 7, n) + int(rng.integers(-100, 100))).astype(np.float32))


def just_below_a_power_of_two(rng, n):
    """The maximum may round up into the next binade."""
    ones = int(rng.integers(1, 24))
    x = rng.normal(size=n).astype(np.float32) / 4
    x[int(rng.integers(n))] = (2 - 2.0**-ones) * (1 if rng.integers(2) else -1)
    return np.ldexp(x, int(rng.integers(-140, 127))).astype(np.float32)


def dyadic(rng, n):
    """Multiples of 1/8: many exact ties in formats with few bits."""
    return (rng.integers(-64, 65, n) / 8).astype(np.float32)


FINITE = {
    "zeros": lambda rng, n: with_binary(rng, np.zeros(n, np.float32)),
    "normal": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "small_normal": lambda rng, n: (rng.normal(size=n) * 1e-3).astype(np.float32),
    "tiny": lambda rng, n: rng.choice(TINY, n),
    "subnormal": lambda rng, n: with_binary(rng, rng.integers(0, 2**23, n).astype(np.uint32).view(np.float32)),
    "few_subnormal": lambda rng, n: with_binary(rng, rng.integers(0, 40, n).astype(np.uint32).view(np.float32)),
    "huge": lambda rng, n: rng.choice(HUGE, n),
    "huge_and_tiny": lambda rng, n: rng.choice(np.concatenate([HUGE, TINY]), n),
    "powers": near_powers_of_two,
    "bits": random_bits,
    "narrow_bits": narrow_bits,
    "below_power": just_below_a_power_of_two,
    "dyadic": dyadic,
}


def with_nonfinite(rng, n):
    x = FINITE[str(rng.choice(list(FINITE)))](rng, n).copy()
    places = rng.integers(0, n, max(1, n // 8))
    x[places] = rng.choice(np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32), places.size)
    return x


KINDS = FINITE | {"nonfinite": with_nonfinite}


def blocks(rng, count):
    """(kind, block) pairs of sizes 1 to 64, small ones more often, every kind in turn."""
    kinds = list(KINDS)
    for i in range(count):
        kind, size = kinds[i % len(kinds)], int(2 ** rng.uniform(0, 6.02))
        yield kind, KINDS[kind](rng, size)
