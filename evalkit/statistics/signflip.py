"""The null distribution of paired differences when the sign of each unit's difference is a fair coin.

What follows from them for a mean, its p-value and its limits, is in `flip_ranges`.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from evalkit.arrays import Floats, Ints
from evalkit.statistics.replay import replayed

ENUMERATED = 20  # units whose 2^n sign vectors are all visited
CACHED = 2**14  # draws that are worked on at once, so that they stay in the processor's cache
REMEMBERED = 4  # columns of sizes whose draws are kept: all pairs of systems on the same units share them
FEW = 2**16  # units up to which they are kept, some megabytes
HELD = 2**22  # drawn sums held at once when many columns share their signs
TOGETHER = 64  # points of the Walsh–Hadamard transform that one product takes
ALONE = 2**19  # multiplications up to which BLAS stays on one thread
TIE = 1e-12  # relative to Σ|d|: sums of floats closer than this are one sum
LATTICE = 2**25  # distinct magnitudes × points of the Fourier transform: a second of work
NOISE = 1e-12  # a transform in doubles cannot tell smaller probabilities from 0


def enumerated(values: Floats) -> Floats:
    """Σ ± values for every choice of signs, the first one kept: 2^(n−1) sums, the plain sum first; (…, n) in.

    >>> enumerated(np.array([1.0, 3.0]))
    array([ 4., -2.])
    """
    sums = values[..., :1].copy()
    for i in range(1, values.shape[-1]):
        value = values[..., i, None]
        sums = np.concatenate([sums + value, sums - value], axis=-1)
    return sums


def joint_draws(columns: Floats, *, rng: np.random.Generator, draws: int) -> Floats:
    """Σ ± column under at least `draws` random sign vectors, shared by all columns: (n, m) in, (m, draws) out.

    Random signs times the rows of a Walsh–Hadamard matrix: each row of the product is uniform over sign vectors,
    and one fast transform gives the N = 2^⌈log₂ n⌉ sums of a block for N log₂ N additions. Draws of one block are
    uncorrelated, not independent. Koning, Hemerik, Biometrika 2024, doi:10.1093/biomet/asad050.
    """
    return summed(columns, signs(len(columns), rng, draws))


def signs(n: int, rng: np.random.Generator, draws: int) -> Floats:
    """Random signs of n units from which at least `draws` draws follow, a row a block."""
    return remembered(_signs, n)(random_bits(n, rng, draws), n)


def summed(columns: Floats, signs: Floats) -> Floats:
    """Σ ± column of each draw that follows from these signs, (n, m) in, (m, draws) out."""
    n, m = columns.shape
    points = np.zeros((m, 1, signs.shape[1]))
    points[:, 0, :n] = columns.T
    return walsh_hadamard(signs * points).reshape(m, signs.size)


def random_bits(n: int, rng: np.random.Generator, draws: int) -> bytes:
    """A random bit for each of n units in each block of draws, n bits to whole bytes."""
    return _bytes(rng, -(-draws // _points(n)), -(-n // 8))


@replayed(REMEMBERED)
def _bytes(rng: np.random.Generator, rows: int, columns: int) -> bytes:
    return rng.integers(0, 256, (rows, columns), dtype=np.uint8).tobytes()


@lru_cache(REMEMBERED)
def _signs(bits: bytes, n: int) -> Floats:
    """The random sign of each unit, a row a block; 0 from unit n on, up to a power of two."""
    rows = np.frombuffer(bits, np.uint8).reshape(-1, -(-n // 8))
    signs = np.zeros((len(rows), _points(n)))
    signs[:, :n] = 1.0 - 2.0 * np.unpackbits(rows, axis=1, count=n)
    return signs


def remembered(function: Any, units: int) -> Any:
    """A function whose results are kept, or of many units the same without keeping them."""
    return function if units <= FEW else function.__wrapped__


def _points(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


def sums(values: Floats, bits: bytes) -> Iterator[Floats]:
    """Σ ± values of some draws at a time, which the next may overwrite; without bits for every choice of signs."""
    if not bits:
        every = enumerated(values)
        yield from (every[start : start + CACHED] for start in range(0, every.size, CACHED))
        return
    drawn = remembered(_signs, values.size)(bits, values.size)
    rows = max(1, CACHED // drawn.shape[1])
    blocks = (drawn[start : start + rows] for start in range(0, len(drawn), rows))
    if 1 < drawn.shape[1] <= TOGETHER:
        yield from _by_halves(blocks, values, drawn.shape[1] // 2)
        return
    points = np.zeros(drawn.shape[1])
    points[: values.size] = values
    yield from (walsh_hadamard(block * points).ravel() for block in blocks)


def _by_halves(blocks: Iterable[Floats], values: Floats, half: int) -> Iterator[Floats]:
    """The transform's last level by hand: the sums and the differences of two products, each of half the points.

    The memory of some draws is used again for the next.
    """
    matrix, n = _hadamard(half), values.size
    first, second = values[:half, None] * matrix, values[half:, None] * matrix[: n - half]
    memory = np.empty(0)
    for block in blocks:
        points = 2 * half * len(block)
        memory = memory if memory.size >= points else np.empty(points)
        drawn = memory[:points]
        kept, turned = drawn[: points // 2].reshape(-1, half), block[:, half:n] @ second
        np.matmul(block[:, :half], first, out=kept)
        np.subtract(kept, turned, out=drawn[points // 2 :].reshape(kept.shape))
        kept += turned
        yield drawn


def walsh_hadamard(values: Floats) -> Floats:
    """The Walsh–Hadamard transform along the last axis, a power of two long.

    Up to six of the butterfly's levels at once are one product with the Hadamard matrix of 64 points.

    >>> walsh_hadamard(np.array([1.0, 2.0, 3.0, 4.0]))
    array([10., -2., -4.,  0.])
    """
    shape, half = values.shape, 1
    while half < shape[-1]:
        points = min(TOGETHER, shape[-1] // half)
        matrix = _hadamard(points)
        if half == 1:
            values = _rows_times(values.reshape(-1, points), matrix)
        else:
            values = np.matmul(matrix, values.reshape(-1, points, half))
        half *= points
    return values.reshape(shape)


@lru_cache
def _hadamard(points: int) -> Floats:
    """The Hadamard matrix in Sylvester's order: the sign of each entry by the bits that row and column share."""
    matrix = np.ones((1, 1))
    while len(matrix) < points:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def _rows_times(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix in slices so small that BLAS wakes no other threads."""
    step = max(1, ALONE // matrix.size)
    out = np.empty_like(rows)
    for start in range(0, len(rows), step):
        np.matmul(rows[start : start + step], matrix, out=out[start : start + step])
    return out


def exact_p(differences: Floats) -> tuple[float, str] | None:
    """The exact two-sided p-value of a mean of 0 and how it was found; None where only draws are left.

    Differences of 0 change nothing. Differences of one size make it the binomial (sign, McNemar) test; at most
    20 others are enumerated; integer multiples of a common step (precision at k) take one Fourier transform.

    >>> exact_p(np.array([0.5, 0.5, 1.0, 1.5, 0.0]))
    (0.125, 'exact enumeration')
    """
    moved = differences[differences != 0]
    sizes = np.abs(moved)
    if moved.size == 0:
        return 1.0, "no difference"
    if sizes.max() - sizes.min() <= TIE * sizes.max():
        return fair_coin(int(np.sum(moved > 0)), moved.size), "exact binomial"
    if moved.size <= ENUMERATED:
        sums, tie = enumerated(moved), TIE * sizes.sum()
        return float(np.mean(np.abs(sums) >= abs(moved.sum()) - tie)), "exact enumeration"
    steps = lattice(moved)
    return None if steps is None else (lattice_p(steps), "exact by Fourier transform")


def fair_coin(heads: int, flips: int) -> float:
    """The exact two-sided p-value of a fair coin; never 0.

    >>> round(fair_coin(9, 10), 12)
    0.021484375
    """
    from scipy.special import bdtr

    tail = float(bdtr(min(heads, flips - heads), flips, 0.5))
    return min(1.0, max(2 * tail, float(np.finfo(float).tiny)))


def lattice(differences: Floats) -> Ints | None:
    """The differences as integer multiples of their common step; None where there is none, or too much work.

    >>> lattice(np.array([0.1, -0.2, 0.7 - 0.4]))
    array([ 1, -2,  3])
    """
    largest = float(np.abs(differences).max())
    sizes = np.unique(np.abs(differences / largest).round(12)) * largest
    whole = float(np.abs(differences).sum())
    if sizes.size > 64:
        return None
    step = largest
    for size in sizes.tolist():
        while size > 1e-6 * largest:  # Euclid; what is left of a multiple is rounding
            step, size = size, abs(step - size * round(step / size))
        if sizes.size * whole > 2 * LATTICE * step:  # steps only become smaller
            return None
    steps = np.round(differences / step)
    off = np.abs(differences - steps * step).max() > 1e-9 * largest
    work = sizes.size * np.abs(steps).sum()
    return None if off or work > LATTICE else steps.astype(np.int64)


def lattice_p(steps: Ints) -> float:
    """P(|Σ ± steps| ≥ |Σ steps|) for integer steps; never 0.

    The sum of the flipped steps has the characteristic function Π ((1 + e^{itm}) / 2)^c over the sizes m with c
    steps each; its inverse transform is the distribution. Doubles resolve probabilities down to about 1e-12.

    >>> round(lattice_p(np.array([1, 1, 2, 3])), 12)
    0.125
    """
    size, times = np.unique(np.abs(steps), return_counts=True)
    whole = int(size @ times)
    points = 1 << whole.bit_length()
    frequency = np.arange(points // 2 + 1)
    cosine = np.cos(np.pi * np.arange(2 * points) / points)
    spectrum = np.exp(-1j * np.pi * (frequency * whole % (2 * points)) / points)
    for m, c in zip(size, times, strict=True):
        spectrum *= cosine[frequency * m % (2 * points)] ** c
    extreme = int(whole - abs(steps.sum())) // 2
    tail = np.fft.irfft(spectrum, points)[: extreme + 1].sum()
    return 1.0 if 2 * extreme == whole else float(np.clip(2 * tail, NOISE, 1.0))
