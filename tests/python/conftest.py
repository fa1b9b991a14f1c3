"""The built package, and the fixtures of its examples: the digits model, images, a folder."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"


@pytest.fixture(scope="session")
def digits():
    return str(DIGITS / "digits.onnx")


@pytest.fixture(scope="session")
def images():
    """Normalized test images."""
    pixels = np.load(DIGITS / "test_images.npy")[:200]
    return ((pixels.astype(np.float32) / 255 - 0.1307) / 0.3081).astype(np.float32)


@pytest.fixture(scope="session")
def labels():
    return np.load(DIGITS / "test_labels.npy")[:200]
