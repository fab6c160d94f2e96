"""Counter-based draws, as worker/trainer/noise/README.md fixes them: the same numbers on every machine.

Functions of seed, stream and index; nothing here has a state. Those that give arrays need numpy.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    import numpy as np

_64 = (1 << 64) - 1
_32 = (1 << 32) - 1

SOURCES = ("init", "data_order", "augment", "dropout", "poke", "kernels", "autotune",
           "reduce_order", "threads", "dial", "load")
# Those that act only where a plan asks for them; and of these, those that a specification leaves
# out where they are off.
OFF_UNLESS_ASKED = ("poke", "threads", "dial", "load")
LEFT_OUT = ("dial", "load")


def mix(x: int) -> int:
    """The finaliser of SplitMix64 after its increment: a bijection of 64-bit numbers."""
    x = (x + 0x9E3779B97F4A7C15) & _64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64
    return x ^ (x >> 31)


def derive_seed(sweep_seed: int, source: str, block: int, lane: int) -> int:
    """The seed of a member's source: `lane` is 0 when it is fixed, level + 1 when it is free."""
    h = mix(sweep_seed & _64)
    for part in (SOURCES.index(source) + 1, block, lane):
        h = mix(h ^ part)
    return h


def stream_of(name: str) -> int:
    """The stream of a parameter or layer: the 64-bit FNV-1a hash of its name."""
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) & _64
    return h


def block(seed: int, stream: int, index: int) -> tuple[int, int, int, int]:
    """The four 32-bit words of Philox4x32-10 at `index`."""
    c = [index & _32, index >> 32 & _32, stream & _32, stream >> 32 & _32]
    k0, k1 = seed & _32, seed >> 32 & _32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & _32, p0 >> 32 ^ c[3] ^ k1, p0 & _32]
        k0, k1 = (k0 + 0x9E3779B9) & _32, (k1 + 0xBB67AE85) & _32
    return c[0], c[1], c[2], c[3]


def bits(seed: int, stream: int, index: int) -> int:
    """64 bits: words 0 (low) and 1 (high) of a block."""
    words = block(seed, stream, index)
    return words[0] | words[1] << 32


def below(random_bits: int, bound: int) -> int:
    """A uniform integer in [0, bound) of 64 bits."""
    return random_bits * bound >> 64


def derived(seed: int, key: Sequence[Any]) -> int:
    """A seed of its own for each key, a sequence of numbers and texts; () has one, too.

    64 bits of block 0 of the stream of the key's parts as text, joined by '/'.
    """
    return bits(seed, stream_of("/".join(str(part) for part in key)), 0)


def order(seed: int, count: int, epoch: int, window: int = 0) -> list[int]:
    """In which order an epoch visits `count` examples: a permutation of their ranks.

    window 0: a full permutation; else a buffer of so many, from which each position draws one.
    """
    if window > 0:
        return _windowed(seed, count, epoch, window)
    places = list(range(count))
    drawn = _bits_of_positions(seed, epoch, max(count - 1, 0))
    for i, random_bits in enumerate(drawn):
        j = i + (random_bits * (count - i) >> 64)
        places[i], places[j] = places[j], places[i]
    return places


def _windowed(seed: int, count: int, epoch: int, window: int) -> list[int]:
    buffer = list(range(min(window, count)))
    following = len(buffer)
    result = []
    for random_bits in _bits_of_positions(seed, epoch, count):
        at = below(random_bits, len(buffer))
        result.append(buffer[at])
        if following < count:
            buffer[at] = following
            following += 1
        else:
            buffer[at] = buffer[-1]
            buffer.pop()
    return result


def _bits_of_positions(seed: int, epoch: int, count: int) -> Sequence[int]:
    numpy = numpy_or_none()
    if numpy is None:
        return [bits(seed, epoch, i) for i in range(count)]
    words = blocks(seed, epoch, 0, count).astype(numpy.uint64)
    both: list[int] = (words[:, 0] | words[:, 1] << numpy.uint64(32)).tolist()
    return both


def numpy_or_none() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def blocks(seed: int, stream: int, first: int, count: int) -> np.ndarray:
    """uint32 {count, 4}: the blocks from index `first` on."""
    import numpy as np
    index = np.arange(first, first + count, dtype=np.uint64)
    low, shift = np.uint64(_32), np.uint64(32)
    c0, c1 = index & low, index >> shift
    c2 = np.full(count, stream & _32, np.uint64)
    c3 = np.full(count, stream >> 32 & _32, np.uint64)
    k0, k1 = seed & _32, seed >> 32 & _32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = p1 >> shift ^ c1 ^ np.uint64(k0), p1 & low
        c2, c3 = p0 >> shift ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + 0x9E3779B9) & _32, (k1 + 0xBB67AE85) & _32
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32)


def words(seed: int, stream: int, count: int, first: int = 0) -> np.ndarray:
    """uint32 {count}: word e is word e mod 4 of block e / 4, from e = `first` on."""
    before = first % 4
    drawn = blocks(seed, stream, first // 4, (before + count + 3) // 4)
    return drawn.reshape(-1)[before:before + count]


def uniform(seed: int, name: str, shape: Sequence[int], limit: float) -> np.ndarray:
    """float32 in [-limit, limit), an element a word of the name's stream, in row-major order."""
    import numpy as np
    drawn = words(seed, stream_of(name), math.prod(shape))
    u = (drawn >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    one = np.float32(1)
    return ((np.float32(2) * u - one) * np.float32(limit)).reshape(shape)


def normal(seed: int, name: str, shape: Sequence[int], deviation: float) -> np.ndarray:
    """float32, normal with mean 0, likewise."""
    import numpy as np
    drawn = words(seed, stream_of(name), math.prod(shape))
    z = inverse_normal((drawn.astype(np.float64) + 0.5) * 2.0**-32).astype(np.float32)
    return (z * np.float32(deviation)).reshape(shape)


def weight(seed: int, name: str, shape: Sequence[int], init: str) -> np.ndarray:
    """float32: the weight {out, in, ...} of a convolution or a dense layer, by the fans of its shape."""
    taps = math.prod(shape[2:])
    fan_in, fan_out = shape[1] * taps, shape[0] * taps
    if init == "he_normal":
        return normal(seed, name, shape, math.sqrt(2.0 / fan_in))
    if init not in ("glorot_uniform", "dirac"):
        raise ValueError(f"init={init!r}: expected 'glorot_uniform', 'he_normal' or 'dirac'")
    drawn = uniform(seed, name, shape, math.sqrt(6.0 / (fan_in + fan_out)))
    if init == "dirac" and len(shape) == 4:
        for i in range(min(shape[0], shape[1])):
            drawn[i] = 0
            drawn[i, i, shape[2] // 2, shape[3] // 2] = 1
    return drawn


# Wichura's PPND16 (AS 241): numerators and denominators, of the powers 0 to 7.
_CENTRE_TOP = (3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
               1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
               3.3430575583588128105e+4, 2.5090809287301226727e+3)
_CENTRE_BOTTOM = (1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
                  5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
                  2.8729085735721942674e+4, 5.2264952788528545610e+3)
_TAIL_TOP = (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
             3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
             2.27238449892691845833e-2, 7.74545014278341407640e-4)
_TAIL_BOTTOM = (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                5.47593808499534494600e-4, 1.05075007164441684324e-9)


def _horner(coefficients: Sequence[float], x: Any) -> Any:
    total = coefficients[7]
    for coefficient in reversed(coefficients[:7]):
        total = total * x + coefficient
    return total


def _portable_log(x: np.ndarray) -> np.ndarray:
    """Of + - * / alone, which IEEE 754 fixes: a library's logarithm differs between libraries."""
    import numpy as np
    mantissa, exponent = np.frexp(x)  # [1/2, 1)
    small = mantissa < 0.707106781186547524400844362105
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    exponent = np.where(small, exponent - 1, exponent)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    total = np.full_like(s, 1.0 / 21.0)
    for odd in range(19, 0, -2):
        total = total * square + 1.0 / odd
    return exponent.astype(np.float64) * 0.693147180559945309417232121458 + 2.0 * s * total


def inverse_normal(p: np.ndarray) -> np.ndarray:
    """float64: the normal quantile of p in (0, 1)."""
    import numpy as np
    q = p - 0.5
    r = 0.180625 - q * q
    centre = q * _horner(_CENTRE_TOP, r) / _horner(_CENTRE_BOTTOM, r)
    tail = np.where(q < 0.0, p, 1.0 - p)
    t = np.sqrt(-_portable_log(tail)) - 1.6
    value = _horner(_TAIL_TOP, t) / _horner(_TAIL_BOTTOM, t)
    return np.where(np.abs(q) <= 0.425, centre, np.where(q < 0.0, -value, value))


def key_bytes(seed: int) -> bytes:
    """A 64-bit seed, little endian."""
    return struct.pack("<Q", seed & _64)
