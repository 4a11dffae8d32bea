# SPDX-License-Identifier: Apache-2.0
"""Image files made and read byte by byte, so that the command's tests need no imaging library."""

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, channels, pixels, before=b"", depth=8, colour=None, interlaced=0):
    """A PNG file of `pixels`, rows of bytes without gaps; `before` are chunks that stand before the pixels."""
    colour = COLOURS[channels] if colour is None else colour
    row = len(pixels) // height if height else 0
    raw = b"".join(b"\0" + pixels[y * row : (y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + before
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND", b"")
    )


def pattern(width, height, channels):
    """Pixels without two equal neighbours, rows or columns."""
    return bytes(
        (7 * x + 31 * y + 83 * c + x * y) % 256 for y in range(height) for x in range(width) for c in range(channels)
    )


def read_png(data):
    """(width, height, channels, pixels) of a PNG file of 8 or 16 bits, high byte first, that is not interlaced."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if name == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth in (8, 16) and not interlaced
        elif name == b"IDAT":
            packed += body
        at += length + 12
    assert name == b"IEND"
    channels = CHANNELS[colour]
    pixel = channels * depth // 8
    raw, stride = zlib.decompress(packed), width * pixel
    rows, above = [], bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            a, b, c = (row[x - pixel], above[x], above[x - pixel]) if x >= pixel else (0, above[x], 0)
            paeth = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[x] = (row[x] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        above = row
    return width, height, channels, b"".join(rows)


def exif(orientation):
    """A TIFF header with one entry, the orientation."""
    return struct.pack("<2sHIHHHIHHI", b"II", 42, 8, 1, 0x0112, 3, 1, orientation, 0, 0)


def jpeg(width, height, components, app=b"", adobe=None):
    """A baseline JPEG file, one grey of 128 all over: every block is the code of a zero DC and the end of the block."""

    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data

    out = b"\xff\xd8" + app
    if adobe is not None:
        out += segment(0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, adobe))
    out += segment(0xDB, b"\0" + bytes([1] * 64))
    out += segment(
        0xC0,
        struct.pack(">BHHB", 8, height, width, components)
        + b"".join(bytes([i + 1, 0x11, 0]) for i in range(components)),
    )
    for table in (0x00, 0x10):  # one code, of one bit: value 0
        out += segment(0xC4, bytes([table, 1] + [0] * 15 + [0]))
    out += segment(0xDA, bytes([components]) + b"".join(bytes([i + 1, 0]) for i in range(components)) + b"\0\x3f\0")
    blocks = ((width + 7) // 8) * ((height + 7) // 8) * components
    bits = 2 * blocks
    data = bytearray((bits + 7) // 8)
    if bits % 8:
        data[-1] = (1 << (8 - bits % 8)) - 1  # padded with ones
    return out + bytes(data) + b"\xff\xd9"


def exif_segment(orientation):
    data = b"Exif\0\0" + exif(orientation)
    return b"\xff\xe1" + struct.pack(">H", len(data) + 2) + data
