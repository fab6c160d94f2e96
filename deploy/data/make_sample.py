#!/usr/bin/env python3
"""Makes deploy/data/fashion-mnist-sample from the full Fashion-MNIST.

    deploy/data/make_sample.py FULL_FOLDER OUTPUT_FOLDER

Of each class it takes the first 600 train and 100 test images in canonical order, the rank by
SHA-256 of split, label and pixels that worker/trainer/data/canonical.h defines, and writes them in
that order as IDX files packed with gzip. The result depends on the images alone, not on their
order in the files. Needs nothing but Python's standard library.
"""

import gzip
import hashlib
import pathlib
import struct
import sys

CLASSES = 10
SPLITS = (("train", 0, 600), ("t10k", 1, 100))


def read_idx(path, magic, dimensions):
    """The sizes and the bytes of an IDX file."""
    content = gzip.decompress(path.read_bytes())
    found, *sizes = struct.unpack_from(f">{1 + dimensions}I", content)
    if found != magic:
        sys.exit(f"{path}: magic number 0x{found:08x}; expected 0x{magic:08x}")
    return sizes, content[4 + 4 * dimensions :]


def read_split(folder, prefix):
    """A list of (label, pixels) and the height and width."""
    (count, height, width), pixels = read_idx(folder / f"{prefix}-images-idx3-ubyte.gz", 0x803, 3)
    (label_count,), labels = read_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", 0x801, 1)
    if label_count != count:
        sys.exit(f"{folder}: {label_count} labels; {count} images")
    size = height * width
    return [(labels[i], pixels[i * size : (i + 1) * size]) for i in range(count)], height, width


def digest(split, example):
    label, pixels = example
    return hashlib.sha256(struct.pack("<BH", split, label) + pixels).digest()


def choose(examples, split, per_class):
    """The first `per_class` of each class, in canonical order."""
    left = [per_class] * CLASSES
    chosen = []
    for example in sorted(examples, key=lambda one: digest(split, one)):
        if left[example[0]] > 0:
            left[example[0]] -= 1
            chosen.append(example)
    if any(left):
        sys.exit(f"too few examples of a class: {left} are missing")
    return chosen


def write_gzip(path, content):
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for prefix, split, per_class in SPLITS:
        examples, height, width = read_split(source, prefix)
        chosen = choose(examples, split, per_class)
        images = b"".join(pixels for _, pixels in chosen)
        labels = bytes(label for label, _ in chosen)
        write_gzip(target / f"{prefix}-images-idx3-ubyte.gz",
                   struct.pack(">4I", 0x803, len(chosen), height, width) + images)
        write_gzip(target / f"{prefix}-labels-idx1-ubyte.gz",
                   struct.pack(">2I", 0x801, len(chosen)) + labels)


if __name__ == "__main__":
    main()
