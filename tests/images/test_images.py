"""Decoded images are identical to Pillow's, and hold no pixel that is not in the file."""
import hashlib
import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.decoding import ImageError, decode, size
from support.made_images import HEIGHT, WIDTH, bmp, every_image, packed_rows, pixels, png, pnm, saved, scans_of_jpeg, tiff

FILES = every_image()


@pytest.mark.parametrize("name", FILES)
def test_pixels_are_those_of_pillow(name):
    data = FILES[name]
    peer = Image.open(io.BytesIO(data))
    np.testing.assert_array_equal(decode(data), np.asarray(peer.convert("RGB")))
    np.testing.assert_array_equal(decode(data, channels=1)[..., 0], np.asarray(peer.convert("RGB").convert("L")))


def test_16_bit_pixels_keep_their_upper_byte():
    """Pillow clips 16-bit gray values to 255 instead."""
    values = np.arange(HEIGHT * WIDTH, dtype=np.uint16).reshape(HEIGHT, WIDTH) * 33
    for data in (png(16, 0, [row.astype(">u2").tobytes() for row in values]), tiff(values[..., None], 16, 1),
                 tiff(values[..., None], 16, 1, order=">")):
        np.testing.assert_array_equal(decode(data, 1)[..., 0], values >> 8)
    scaled = np.rint(values / 65535 * 255)
    np.testing.assert_array_equal(decode(pnm("P5", values, 65535), 1)[..., 0], scaled)


def refused(data, code="malformed"):
    with pytest.raises(ImageError) as error:
        decode(data)
    assert error.value.code == code, str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_rejected(name):
    """Truncated at any byte, except for the last ones, which hold no pixels. In a text format, a truncated last number looks complete."""
    data = FILES[name]
    last = len(data) - 5 if data[:2] in (b"P2", b"P3") else len(data)
    whole = decode(data)
    kept = 0
    for length in sorted({*range(0, min(last, 700)), *range(0, last, 37), *range(max(0, last - 40), last)}):
        try:
            np.testing.assert_array_equal(decode(data[:length], fill=85), whole)
            kept += 1
        except ImageError as error:
            assert error.code in ("malformed", "unsupported"), f"{length}: {error}"
    # The last bytes may be a TIFF tag that is not needed, the space after a number in text, or the padding of a row.
    assert kept <= (40 if name.endswith(("tif", "jp2", "j2k")) else 3)


def cut_and_damaged():
    """Yields every file truncated or with some bytes overwritten, with the result: a hash of the pixels, or the error."""
    random = np.random.default_rng(7)
    for name, data in FILES.items():
        broken = [data[:len(data) // 2], data[:len(data) * 3 // 4]]
        for _ in range(20):
            one = bytearray(data)
            for at in random.integers(0, len(data), 3):
                one[at] = random.integers(0, 256)
            broken.append(bytes(one))
        for one in broken:
            try:
                yield name, hashlib.sha256(decode(one).tobytes()).hexdigest()
            except ImageError as error:
                yield name, f"{error.code}: {error}"


def test_results_do_not_depend_on_uninitialized_memory():
    """MALLOC_PERTURB_ makes glibc fill memory with a given byte: reads of uninitialized memory then give other results."""
    answers = []
    for byte in (0x55, 0xAA):
        script = "import test_images; [print(*one) for one in test_images.cut_and_damaged()]"
        environment = {**os.environ, "MALLOC_PERTURB_": str(byte), "PYTHONPATH": str(Path(__file__).parent), "PYTHONMALLOC": "malloc"}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        answers.append(done.stdout.splitlines())
    assert len(answers[0]) > 1000
    assert [pair for pair in zip(*answers) if pair[0] != pair[1]] == []


def claims():
    """Small files that claim to be huge: name → bytes."""
    header = struct.pack(">IIBBBBB", 16000, 16000, 8, 2, 0, 0, 0)
    jpeg = bytearray(saved("L", "JPEG"))
    at = jpeg.index(b"\xff\xc0") + 5
    jpeg[at:at + 4] = struct.pack(">HH", 16000, 16000)
    webp = bytearray(saved("RGB", "WebP", quality=50))
    at = webp.index(b"\x9d\x01\x2a") + 3
    webp[at:at + 4] = struct.pack("<HH", 16000, 16000)
    j2k = bytearray(saved("RGB", "JPEG2000", no_jp2=True))
    j2k[8:16] = struct.pack(">II", 16000, 16000)
    many_tiles = bytearray(j2k)
    many_tiles[24:32] = struct.pack(">II", 64, 64)
    chunk = struct.pack(">I", 13) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    whole_tiff = bytearray(tiff(pixels(1)[..., None], 8, 1))
    at = struct.unpack_from("<I", whole_tiff, 4)[0] + 2
    struct.pack_into("<I", whole_tiff, at + 8, 16000)
    struct.pack_into("<I", whole_tiff, at + 20, 16000)
    return {
        "pgm": b"P5 16000 16000 255\n", "plain": b"P2 16000 16000 255\n1 2 3", "bitmap": b"P4 16000 16000\n\0",
        "bmp": b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 16000, 16000, 1, 24, 0, 0, 0, 0, 0, 0),
        "bmp_down": b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 16000, -(2**31), 1, 24, 0, 0, 0, 0, 0, 0),
        "png": FILES["rgb.png"][:8] + chunk + FILES["rgb.png"][33:], "jpeg": bytes(jpeg), "webp": bytes(webp), "tiff": bytes(whole_tiff),
        "jpeg2000": bytes(j2k), "tiles": bytes(many_tiles),
    }


@pytest.mark.parametrize("name", claims())
def test_more_pixels_than_the_bytes_can_hold_are_rejected_before_allocation(name):
    with pytest.raises(ImageError) as error:
        size(claims()[name])
    assert error.value.code in ("malformed", "limit_exceeded")
    assert "claim" in str(error.value) or "too many" in str(error.value)


def test_the_error_states_the_limit_of_pixels():
    data = b"P4 65536 65536\n" + bytes(65536 * 10)
    with pytest.raises(ImageError, match="(?s)65536 x 65536 pixels are too many.*268435456") as error:
        size(data)
    assert error.value.code == "limit_exceeded"


@pytest.mark.parametrize("kind,options", [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("TIFF", {"compression": "tiff_lzw"}),
                                          ("TIFF", {"compression": "tiff_adobe_deflate"}), ("TIFF", {"compression": "packbits"}),
                                          ("WebP", {"lossless": True}), ("WebP", {"quality": 1}), ("JPEG2000", {})])
def test_large_images_of_one_colour_are_read(kind, options):
    """They have the highest compression ratio, and the check of pixels against bytes must accept them."""
    file = io.BytesIO()
    Image.new("RGB", (2000, 1500), (90, 90, 90)).save(file, kind, **options)
    assert len(file.getvalue()) < 200_000
    expected = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    np.testing.assert_array_equal(decode(file.getvalue()), expected)


def test_every_component_of_a_jpeg_has_data():
    whole = scans_of_jpeg([1, 2, 3])
    np.testing.assert_array_equal(decode(whole), np.asarray(Image.open(io.BytesIO(whole))))
    assert "no data" in refused(scans_of_jpeg([1, 2]))
    assert "no data" in refused(scans_of_jpeg([3, 3, 3]))


def test_a_jpeg_with_too_many_scans_is_rejected():
    """Each scan takes a dozen bytes, and costs a pass over the image."""
    assert "too many scans" in refused(scans_of_jpeg([1] * 100 + [2, 3]))


@pytest.mark.parametrize("data,words", [
    (saved("1", "TIFF", compression="group4"), "CCITT"),
    (saved("1", "TIFF", compression="group3"), "CCITT"),
    (b"BM" + struct.pack("<IHHI", 100, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 4, 4, 1, 8, 1, 0, 0, 0, 0, 0) + bytes(1100), "compressed"),
])
def test_unsupported_variants_are_named(data, words):
    assert words in refused(data, "unsupported")


def test_an_animation_is_rejected():
    file = io.BytesIO()
    Image.new("RGB", (9, 9)).save(file, "WebP", save_all=True, append_images=[Image.new("RGB", (9, 9), (255, 0, 0))])
    assert "animation" in refused(file.getvalue(), "unsupported")


@pytest.mark.parametrize("data,words", [
    (b"", "known image format"), (b"hello", "known image format"), (b"P5 3 3 255\nab", "cut off"), (b"P5 30 3 255\nab", "cannot hold"), (b"P5 3 3 0\n123456789", "maximum"),
    (b"P5 0 3 255\n123", "no pixels"), (b"P5 3 3 65536\n" + bytes(18), "maximum"), (b"P2 2 1 9\n1 10\n", "above"),
    (b"P1 2 1\n1 2\n", "neither"), (b"P5 99999999999 1 255\n1", "too long"), (b"P6 2 2 255\n" + bytes(11), "cut off"),
    (bmp(8, [bytes([200]) * WIDTH] * HEIGHT, palette=bytes(40)), "palette"),
    (bmp(4, packed_rows(pixels(1) % 16, 4), palette=bytes(40)), "palette"),
    (bmp(16, [bytes(2 * WIDTH)] * HEIGHT, masks=(0x5, 0x7E0, 0x1F)), "bit fields"),
    (bmp(24, [bytes(3 * WIDTH)] * HEIGHT, offset=1 << 31), "cut off"),
])
def test_errors_name_the_cause(data, words):
    assert words in refused(data)
