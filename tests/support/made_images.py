"""Image files of every supported kind, written by Pillow or by hand."""
import io
import struct

import numpy as np
from PIL import Image

# Not square, not a multiple of any block size; some flat areas, so that compression has an effect.
HEIGHT, WIDTH = 37, 53


def pixels(channels, seed=0):
    """Smooth colours, which suit lossy formats, with some noise, which makes rounding visible."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [128 + 100 * np.sin(x / (5 + 3 * c) + c) * np.cos(y / (7 + c)) + random.normal(0, 8, x.shape) for c in range(channels)]
    values = np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)
    values[:8, :8] = 200
    return values[..., 0] if channels == 1 else values


def image(mode, seed=0):
    if mode == "1":
        return Image.fromarray(pixels(1, seed)).convert("1")
    if mode == "P":
        return Image.fromarray(pixels(3, seed)).quantize(100)
    if mode == "CMYK":
        return Image.merge("CMYK", [Image.fromarray(np.ascontiguousarray(plane)) for plane in np.moveaxis(pixels(4, seed), -1, 0)])
    return Image.fromarray(pixels({"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}[mode], seed), mode=mode)


def saved(mode, kind, **options):
    file = io.BytesIO()
    image(mode).save(file, kind, **options)
    return file.getvalue()


def png(depth, colour, rows, interlaced=False, palette=b""):
    """A PNG of any depth; `rows` are its packed rows, or one list of them for each of the seven passes."""
    import zlib

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    data = b"".join(b"\0" + row for row in rows)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, colour, 0, 0, int(interlaced))
    text = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    if palette:
        text += chunk(b"PLTE", palette)
    return text + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def interlaced_rows(values):
    """Rows of the seven passes of Adam7; values are [height, width, bytes]."""
    return [row.tobytes() for y, x, down, across in PASSES for row in values[y::down, x::across] if row.size]


def bmp(bits, rows, masks=None, palette=b"", top_down=False, header=40, offset=None):
    extra = b"".join(struct.pack("<I", mask) for mask in masks) if masks else b""
    start = 14 + header + len(extra) + len(palette)
    if header == 12:
        info = struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits)
    else:
        height = -HEIGHT if top_down else HEIGHT
        info = struct.pack("<IiiHHIIiiII", 40, WIDTH, height, 1, bits, 3 if masks else 0, 0, 0, 0, len(palette) // 4, 0)
    body = b"".join(row + bytes(-len(row) % 4) for row in (rows if top_down else rows[::-1]))
    return b"BM" + struct.pack("<IHHI", start + len(body), 0, 0, offset or start) + info + extra + palette + body


def packed_rows(values, bits):
    """Rows of samples of fewer than 8 bits, the first in the upper bits."""
    bitwise = np.unpackbits(values.astype(np.uint8)[..., None], axis=-1)[..., 8 - bits:]
    return [row.tobytes() for row in np.packbits(bitwise.reshape(len(values), -1), axis=-1)]


def tiff(values, bits, photometric, orientation=1, tile=None, planar=False, order="<", extra=None, palette=None):
    """An uncompressed TIFF. `values` are [height, width, samples]."""
    values = np.asarray(values)
    height, width, samples = values.shape
    dtype = np.dtype(order + "u2") if bits == 16 else np.dtype(np.uint8)

    def rows(part):
        if bits < 8:
            return b"".join(packed_rows(part[..., 0], bits))
        return part.astype(dtype).tobytes()

    planes = [values[..., s:s + 1] for s in range(samples)] if planar else [values]
    if tile:
        parts = []
        for plane in planes:
            for y in range(0, height, tile):
                for x in range(0, width, tile):
                    whole = np.zeros((tile, tile, plane.shape[-1]), values.dtype)
                    piece = plane[y:y + tile, x:x + tile]
                    whole[:piece.shape[0], :piece.shape[1]] = piece
                    parts.append(rows(whole))
    else:
        parts = [rows(plane[y:y + 10]) for plane in planes for y in range(0, height, 10)]
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * samples), 259: (3, [1]), 262: (3, [photometric]),
            274: (3, [orientation]), 277: (3, [samples]), 284: (3, [2 if planar else 1])}
    if tile:
        tags |= {322: (4, [tile]), 323: (4, [tile]), 324: (4, []), 325: (4, [len(part) for part in parts])}
    else:
        tags |= {273: (4, []), 278: (4, [10]), 279: (4, [len(part) for part in parts])}
    if extra is not None:
        tags[338] = (3, [extra])
    if palette is not None:
        tags[320] = (3, list(palette))
    at, offsets = 8, []
    for part in parts:
        offsets.append(at)
        at += len(part)
    tags[324 if tile else 273] = (4, offsets)
    at += at % 2
    file = bytearray(b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", at) + b"".join(parts)
    file += bytes(at - len(file))
    directory, outside = struct.pack(order + "H", len(tags)), b""
    after = at + 2 + 12 * len(tags) + 4
    for tag, (kind, numbers) in sorted(tags.items()):
        data = b"".join(struct.pack(order + {3: "H", 4: "I"}[kind], number) for number in numbers)
        directory += struct.pack(order + "HHI", tag, kind, len(numbers))
        if len(data) <= 4:
            directory += data.ljust(4, b"\0")
        else:
            directory += struct.pack(order + "I", after + len(outside))
            outside += data
    return bytes(file + directory + bytes(4) + outside)


def pnm(kind, values, most=255):
    header = f"{kind}\n# made by hand\n{values.shape[1]} {values.shape[0]}\n".encode() + (b"" if kind in ("P1", "P4") else b"%d\n" % most)
    if kind in ("P1", "P2", "P3"):
        return header + "\n".join(" ".join(str(v) for v in row.ravel()) for row in values).encode() + b"\n"
    if kind == "P4":
        return header + b"".join(packed_rows(values, 1))
    return header + values.astype(">u2" if most > 255 else np.uint8).tobytes()


def every_image():
    """Name → bytes of a file that Pillow and anybit decode identically."""
    deep = pixels(4).astype(np.uint16) * 257 ^ 0x5A
    gray16 = [row.astype(">u2").tobytes() for row in deep]
    colours = bytes(range(0, 240, 2)) * 2
    ramp = (pixels(1) % 16).astype(np.uint8)
    shades = np.linspace(0, 65535, 768).astype(int).tolist()
    files = {
        "gray.png": saved("L", "PNG"), "gray_alpha.png": saved("LA", "PNG"), "rgb.png": saved("RGB", "PNG"),
        "rgba.png": saved("RGBA", "PNG"), "palette.png": saved("P", "PNG"), "bits.png": saved("1", "PNG"),
        "transparent.png": saved("P", "PNG", transparency=3), "gamma.png": with_gamma(saved("RGB", "PNG")),
        "gray2.png": png(2, 0, packed_rows(ramp % 4, 2)), "gray4.png": png(4, 0, packed_rows(ramp, 4)),
        "palette4.png": png(4, 3, packed_rows(ramp, 4), palette=colours[:48]),
        "rgb16.png": png(16, 2, [row[:, :3].astype(">u2").tobytes() for row in deep]),
        "rgba16.png": png(16, 6, gray16),
        "interlaced.png": png(8, 2, interlaced_rows(pixels(3)), True),
        "rgb.jpg": saved("RGB", "JPEG"), "rough.jpg": saved("RGB", "JPEG", quality=10), "gray.jpg": saved("L", "JPEG"),
        "cmyk.jpg": saved("CMYK", "JPEG"), "optimized.jpg": saved("RGB", "JPEG", optimize=True, quality=95),
        "restarts.jpg": saved("RGB", "JPEG", restart_marker_blocks=2),
        "bmp24.bmp": saved("RGB", "BMP"), "gray.bmp": saved("L", "BMP"), "palette.bmp": saved("P", "BMP"), "bits.bmp": saved("1", "BMP"),
        "rgba.bmp": saved("RGBA", "BMP"),
        "palette4.bmp": bmp(4, packed_rows(ramp, 4), palette=bytes(range(64))),
        "bmp16.bmp": bmp(16, [row.astype("<u2").tobytes() for row in deep[..., 0] & 0x7FFF]),
        "bmp565.bmp": bmp(16, [row.astype("<u2").tobytes() for row in deep[..., 0]], masks=(0xF800, 0x7E0, 0x1F)),
        "bmp32.bmp": bmp(32, [row.tobytes() for row in pixels(4)]),
        "fields32.bmp": bmp(32, [row.tobytes() for row in pixels(4)], masks=(0xFF000000, 0xFF0000, 0xFF00)),
        "top_down.bmp": bmp(24, [row.tobytes() for row in pixels(3)], top_down=True),
        "os2.bmp": bmp(24, [row.tobytes() for row in pixels(3)], header=12),
        "raw.ppm": pnm("P6", pixels(3)), "raw.pgm": pnm("P5", pixels(1)), "raw.pbm": pnm("P4", pixels(1) % 2),
        "plain.ppm": pnm("P3", pixels(3)), "plain.pgm": pnm("P2", pixels(1)), "plain.pbm": pnm("P1", pixels(1) % 2),
        "small.ppm": pnm("P6", pixels(3) % 100, 99), "small.pgm": pnm("P2", pixels(1) % 100, 99),
        "deep.ppm": pnm("P6", deep[..., :3] % 40001, 40000),
        "lossy.webp": saved("RGB", "WebP", quality=70), "lossless.webp": saved("RGB", "WebP", lossless=True),
        "alpha.webp": saved("RGBA", "WebP", quality=70), "lossless_alpha.webp": saved("RGBA", "WebP", lossless=True, exact=True),
        "gray.tif": saved("L", "TIFF"), "gray_alpha.tif": saved("LA", "TIFF"), "bits.tif": saved("1", "TIFF"), "palette.tif": saved("P", "TIFF"),
        "rgb.tif": saved("RGB", "TIFF"), "rgba.tif": saved("RGBA", "TIFF"), "cmyk.tif": saved("CMYK", "TIFF"),
        "big.tif": saved("RGB", "TIFF", big_tiff=True),
        "tiles.tif": tiff(pixels(3), 8, 2, tile=16), "planar.tif": tiff(pixels(3), 8, 2, planar=True),
        "planar_tiles.tif": tiff(pixels(4), 8, 2, tile=32, planar=True, extra=2),
        "rgb16.tif": tiff(deep[..., :3], 16, 2), "rgb16_big.tif": tiff(deep[..., :3], 16, 2, order=">"),
        "premultiplied.tif": tiff(pixels(4), 8, 2, extra=1), "unknown_extra.tif": tiff(pixels(4), 8, 2, extra=0),
        "white0.tif": tiff(pixels(1)[..., None], 8, 0), "white0_bits.tif": tiff(pixels(1)[..., None] % 2, 1, 0),
        "gray2.tif": tiff(ramp[..., None] % 4, 2, 1), "gray4.tif": tiff(ramp[..., None], 4, 1),
        "palette4.tif": tiff(ramp[..., None], 4, 3, palette=shades[:48]),
        "rgb.jp2": saved("RGB", "JPEG2000"), "gray.jp2": saved("L", "JPEG2000"), "rgba.jp2": saved("RGBA", "JPEG2000"),
        "lossy.jp2": saved("RGB", "JPEG2000", irreversible=True, quality_mode="rates", quality_layers=[10]),
        "tiles.jp2": saved("RGB", "JPEG2000", tile_size=(16, 32)), "bare.j2k": saved("RGB", "JPEG2000", no_jp2=True),
        "precincts.jp2": saved("RGB", "JPEG2000", precinct_size=(32, 32), codeblock_size=(16, 16)),
    }
    for sampling in ("4:4:4", "4:2:2", "4:2:0"):
        for progressive in (False, True):
            name = f"{sampling.replace(':', '')}{'_progressive' * progressive}.jpg"
            files[name] = saved("RGB", "JPEG", subsampling=sampling, progressive=progressive)
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"):
        files[f"{compression}.tif"] = saved("RGB", "TIFF", compression=compression)
    files["predictor.tif"] = saved("RGB", "TIFF", compression="tiff_lzw", tiffinfo={317: 2})
    files["jpeg.tif"] = saved("RGB", "TIFF", compression="jpeg", quality=80)
    for orientation in range(2, 9):
        files[f"turned{orientation}.tif"] = tiff(pixels(3), 8, 2, orientation=orientation)
    return files


def scans_of_jpeg(components):
    """A JPEG of three components with one scan per number: the component of the scan. All scans have the same data."""
    data = saved("L", "JPEG")
    frame, scan = data.index(b"\xff\xc0"), data.index(b"\xff\xda")
    sizes = data[frame + 5:frame + 9]
    three = b"\xff\xc0" + struct.pack(">HB", 17, 8) + sizes + b"\x03" + b"".join(bytes([c, 0x11, 0]) for c in (1, 2, 3))
    compressed = data[scan + 10:-2]
    scans = b"".join(b"\xff\xda" + bytes([0, 8, 1, c, 0, 0, 63, 0]) + compressed for c in components)
    return data[:frame] + three + data[frame + 13:scan] + scans + b"\xff\xd9"


def with_gamma(data):
    """A PNG that declares linear gamma, which decoders ignore."""
    import zlib
    body = b"gAMA" + struct.pack(">I", 100000)
    return data[:33] + struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body)) + data[33:]
