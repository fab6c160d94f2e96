#!/usr/bin/env python3
"""A twin of worker/trainer/images/resize.h in whole numbers of Python, written from its words alone.

    resize_twin.py         prints the rows of kAnswers in resize_test.cc
    resize_twin.py CASE    prints the bytes of one case as hexadecimal digits

A case is WIDTHxHEIGHT-SIDE. Its picture has the value (7 x + 13 y + 71 c + x y) mod 256 at row y,
column x and channel c.
"""
import hashlib
import sys

CASES = ["1x1-8", "7x7-8", "5x9-8", "8x8-8", "9x9-8", "16x16-8", "37x23-8", "23x37-16", "224x224-64",
         "301x200-64", "33x47-40", "2903x2901-3"]


def weights(n, side):
    """Of each wanted value: {place: weight}, and their sum D."""
    rows = []
    for i in range(side):
        if n >= side:
            row = {j: min((i + 1) * n, (j + 1) * side) - max(i * n, j * side) for j in range(n)}
        else:
            p = min(max((2 * i + 1) * n - side, 0), 2 * side * (n - 1))
            q = p // (2 * side)
            row = {q: 2 * side * (q + 1) - p}
            row[q + 1] = 2 * side - row[q]
        rows.append({j: w for j, w in row.items() if w > 0})
    return rows, (n if n >= side else 2 * side)


def resize(value, width, height, side):
    """Planes of bytes; value(x, y, c) is the picture."""
    n = min(width, height)
    left, top = (width - n) // 2, (height - n) // 2
    rows, d = weights(n, side)
    out = bytearray()
    for c in range(3):
        for y in range(side):
            for x in range(side):
                total = sum(wy * wx * value(left + k, top + j, c)
                            for j, wy in rows[y].items() for k, wx in rows[x].items())
                out.append((total + d * d // 2) // (d * d))
    return bytes(out)


def answer(case):
    size, side = case.split("-")
    width, height = map(int, size.split("x"))
    return resize(lambda x, y, c: (7 * x + 13 * y + 71 * c + x * y) % 256, width, height, int(side))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(answer(sys.argv[1]).hex())
    else:
        for one in CASES:
            print(f'    {{"{one}", "{hashlib.sha256(answer(one)).hexdigest()}"}},')
