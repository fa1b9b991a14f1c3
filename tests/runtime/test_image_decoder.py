"""ImageDecoder: valid and broken files, and files with exaggerated sizes. tests/images covers every format."""
import io

import numpy as np
import pytest
from PIL import Image
from support.executing import ExecutorError
from support.one_node import model_of, ours

PIXELS = np.random.default_rng(5).integers(0, 256, (9, 14, 3), dtype=np.uint8)


def encoded(kind="PPM"):
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, kind)
    return file.getvalue()


def decoded(data, **attributes):
    array = np.frombuffer(data, np.uint8)
    return ours(model_of("ImageDecoder", [array], **attributes), [array])[0]


def test_pixel_formats():
    for kind in ("PNG", "BMP", "TIFF", "PPM"):
        np.testing.assert_array_equal(decoded(encoded(kind)), PIXELS)
        np.testing.assert_array_equal(decoded(encoded(kind), pixel_format="BGR"), PIXELS[..., ::-1])
        gray = np.asarray(Image.fromarray(PIXELS).convert("L"))[..., None]
        np.testing.assert_array_equal(decoded(encoded(kind), pixel_format="Grayscale"), gray)
    with pytest.raises(ExecutorError, match="RGB, BGR or Grayscale"):
        decoded(encoded(), pixel_format="RGBA")


@pytest.mark.parametrize("kind", ["PPM", "JPEG", "PNG", "BMP", "TIFF", "WebP", "JPEG2000"])
def test_a_broken_file_gives_an_empty_image(kind):
    """As the specification requires, and never an image of uninitialized memory."""
    data = encoded(kind)
    for part in (data[:3], data[:len(data) // 2], data[:len(data) * 4 // 5]):
        assert decoded(part).shape == (0, 0, 3)
    assert decoded(data[:20], pixel_format="Grayscale").shape == (0, 0, 1)


def test_declared_sizes_allocate_nothing():
    assert decoded(b"P5 16000 16000 255\n").shape == (0, 0, 3)
    with pytest.raises(ExecutorError, match="60000 x 60000 pixels are too many"):
        decoded(b"P5 60000 60000 255\n")


def test_a_file_without_bytes_gives_an_empty_image():
    assert decoded(b"").shape == (0, 0, 3)
