"""exp, log and pow as Java's StrictMath computes them, step by step, on NumPy arrays.

Steps, constants and names are those of fdlibm (Sun Microsystems, 1993), which Java must match bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

_LN2_HI, _LN2_LO, _INV_LN2 = 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.44269504088896338700e00
_P = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05),
    *(-1.65339022054652515390e-06, 4.13813679705723846039e-08),
)
_LG = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01),
    *(1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01),
)
_L = (
    *(5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01),
    *(2.72728123808534006489e-01, 2.30660745775561754067e-01, 2.06975017800338417784e-01),
)
_CP, _CP_H, _CP_L = 9.61796693925975554329e-01, 9.61796700954437255859e-01, -7.02846165095275826516e-09
_DP_H, _DP_L = 5.84962487220764160156e-01, 1.35003920212974897128e-08
_LG2, _LG2_H, _LG2_L = 6.93147180559945286227e-01, 6.93147182464599609375e-01, -1.90465429995776804525e-09
_INV_LN2_H, _INV_LN2_L = float.fromhex("0x1.715476p0"), float.fromhex("0x1.4ae0bf85ddf44p-26")
_HUGE, _BELOW_ONE = float.fromhex("0x1.00000ffffffffp31"), float.fromhex("0x1.fffff00000000p-1")
_ABOVE_ONE = float.fromhex("0x1.00000ffffffffp0")
_OVT = 8.0085662595372944372e-0017
_LOW = np.int64(0xFFFFFFFF)


def _high(x: Numbers) -> Whole:
    """The upper half of each number's bits, signed."""
    return x.view(np.int64) >> 32


def _low(x: Numbers) -> Whole:
    return x.view(np.int64) & _LOW


def _with_high(x: Numbers, high: Whole) -> Numbers:
    return ((high << 32) | _low(x)).view(np.float64)


def _short(x: Numbers) -> Numbers:
    """Each number with the lower half of its bits cleared."""
    return (x.view(np.int64) & ~_LOW).view(np.float64)


def _series(t: Numbers, factors: tuple[float, ...]) -> Numbers:
    whole = np.full_like(t, factors[-1])
    for factor in reversed(factors[:-1]):
        whole = factor + t * whole
    return whole


def exp(x: Numbers) -> Numbers:
    """e to the power of each number."""
    size = _high(x) & 0x7FFFFFFF
    negative = _high(x) < 0
    near = size < 0x3FF0A2B2
    k = np.where(near, np.where(negative, -1, 1), np.trunc(_INV_LN2 * x + np.where(negative, -0.5, 0.5)))
    k = np.where(size > 0x3FD62E42, k, 0.0)
    k = np.where(np.isfinite(k), np.clip(k, -2000, 2000), 0.0)
    hi, lo = x - k * _LN2_HI, k * _LN2_LO
    reduced = np.where(k == 0, x, hi - lo)
    t = reduced * reduced
    c = reduced - t * _series(t, _P)
    plain = 1.0 - ((reduced * c) / (c - 2.0) - reduced)
    y = 1.0 - ((lo - (reduced * c) / (2.0 - c)) - hi)
    steps = k.astype(np.int64)
    big = _with_high(y, _high(y) + (steps << 20))
    small = _with_high(y, _high(y) + ((steps + 1000) << 20)) * 2.0**-1000
    found = np.where(k == 0, plain, np.where(steps >= -1021, big, small))
    found = np.where(size < 0x3E300000, 1.0 + x, found)
    found = np.where(x > 7.09782712893383973096e02, np.inf, found)
    found = np.where(x < -7.45133219101941108420e02, 0.0, found)
    return np.where(np.isnan(x), x, found)


def log(x: Numbers) -> Numbers:
    """The natural logarithm; NaN for negative numbers."""
    tiny = (_high(x) < 0x00100000) & (x > 0)
    scaled = np.where(tiny, x * 2.0**54, x)
    hx = _high(scaled)
    k = np.where(tiny, -54, 0) + (hx >> 20) - 1023
    hx = hx & 0x000FFFFF
    i = (hx + 0x95F64) & 0x100000
    m = _with_high(scaled, hx | (i ^ 0x3FF00000))
    k = k + (i >> 20)
    f, dk = m - 1.0, k.astype(np.float64)
    short = f * f * (0.5 - 0.33333333333333333 * f)
    near = np.where(k == 0, f - short, dk * _LN2_HI - ((short - dk * _LN2_LO) - f))
    near = np.where(f == 0, np.where(k == 0, 0.0, dk * _LN2_HI + dk * _LN2_LO), near)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    t1 = w * (_LG[1] + w * (_LG[3] + w * _LG[5]))
    t2 = z * (_LG[0] + w * (_LG[2] + w * (_LG[4] + w * _LG[6])))
    r, half = t2 + t1, 0.5 * f * f
    inner = np.where(k == 0, f - (half - s * (half + r)), dk * _LN2_HI - ((half - (s * (half + r) + dk * _LN2_LO)) - f))
    outer = np.where(k == 0, f - s * (f - r), dk * _LN2_HI - ((s * (f - r) - dk * _LN2_LO) - f))
    found = np.where(((hx - 0x6147A) | (0x6B851 - hx)) > 0, inner, outer)
    found = np.where((0x000FFFFF & (2 + hx)) < 3, near, found)
    found = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, found))
    return np.where(np.isnan(x) | (x == np.inf), x, found)


def log10(x: Numbers) -> Numbers:
    """The logarithm to base ten."""
    tiny = (_high(x) < 0x00100000) & (x > 0)
    scaled = np.where(tiny, x * 2.0**54, x)
    hx = _high(scaled)
    k = np.where(tiny, -54, 0) + (hx >> 20) - 1023
    i = (k < 0).astype(np.int64)
    y = (k + i).astype(np.float64)
    m = _with_high(scaled, (hx & 0x000FFFFF) | ((0x3FF - i) << 20))
    z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log(m)
    found = z + y * 3.01029995663611771306e-01
    found = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, found))
    return np.where(np.isnan(x) | (x == np.inf), x, found)


def pow_(x: Numbers, y: Numbers) -> Numbers:
    """Each number to a power."""
    size = np.abs(x)
    usual = np.isfinite(x) & np.isfinite(y) & (x != 0) & (size != 1) & (y != 0)
    base, power = np.where(usual, size, 2.0), np.where(usual, y, 1.5)
    is_whole = np.trunc(power) == power
    is_odd = is_whole & (np.fmod(power, 2.0) != 0)
    sign = np.where((x < 0) & is_odd, -1.0, 1.0)
    huge = np.abs(power) > _HUGE
    t1, t2 = (np.where(huge, near, usually) for near, usually in zip(_log2_near_one(base), _log2(base), strict=True))
    found = _power(t1, t2, power)
    beyond = huge & ((base < _BELOW_ONE) | (base > _ABOVE_ONE))
    found = sign * np.where(beyond, np.where((power > 0) == (base > 1), np.inf, 0.0), found)
    found = np.where((x < 0) & ~is_whole, np.nan, found)
    found = np.where(usual, found, _unusual(x, y))
    found = np.where(y == 2.0, x * x, found)
    found = np.where((y == 0.5) & (x >= -np.finfo(np.float64).max), np.sqrt(x + 0.0), found)
    found = np.where(y == 1.0, x, np.where(y == -1.0, 1.0 / x, found))
    return np.where(np.isnan(x) & (y != 0), np.nan, found)


def _unusual(x: Numbers, y: Numbers) -> Numbers:
    """Powers of zeros, ones and infinities, and with such exponents."""
    size, y_size = np.abs(x), np.abs(y)
    whole = np.where(y < 0, 1.0 / size, size)
    is_whole = np.trunc(y) == y
    is_odd = is_whole & (np.fmod(np.where(np.isfinite(y), y, 0.0), 2.0) != 0)
    negative = np.signbit(x)
    found = np.where(negative & is_odd, -whole, whole)
    found = np.where(negative & (size == 1) & ~is_whole, np.nan, found)
    endless = np.where(size > 1, np.where(y > 0, np.inf, 0.0), np.where(y < 0, np.inf, 0.0))
    found = np.where(y_size == np.inf, np.where(size == 1, np.nan, endless), found)
    found = np.where(np.isnan(y), np.nan, found)
    return np.where(y == 0, 1.0, found)


def _log2(x: Numbers) -> tuple[Numbers, Numbers]:
    """The logarithm to base two, in two parts."""
    tiny = _high(x) < 0x00100000
    x = np.where(tiny, x * 2.0**53, x)
    ix = _high(x)
    n = np.where(tiny, -53, 0) + (ix >> 20) - 0x3FF
    j = ix & 0x000FFFFF
    ix = j | 0x3FF00000
    one = (j > 0x3988E) & (j < 0xBB67A)
    above = j >= 0xBB67A
    n, ix = np.where(above, n + 1, n), np.where(above, ix - 0x00100000, ix)
    x = _with_high(x, ix)
    bp = np.where(one, 1.5, 1.0)
    u, v = x - bp, 1.0 / (x + bp)
    ss = u * v
    s_h = _short(ss)
    t_h = _with_high(np.zeros_like(x), ((ix >> 1) | 0x20000000) + 0x00080000 + (one.astype(np.int64) << 18))
    t_l = x - (t_h - bp)
    s_l = v * ((u - s_h * t_h) - s_h * t_l)
    s2 = ss * ss
    r = s2 * s2 * _series(s2, _L)
    r = r + s_l * (s_h + ss)
    s2 = s_h * s_h
    t_h = _short(3.0 + s2 + r)
    t_l = r - ((t_h - 3.0) - s2)
    u, v = s_h * t_h, s_l * t_h + t_l * ss
    p_h = _short(u + v)
    p_l = v - (p_h - u)
    z_h, z_l = _CP_H * p_h, _CP_L * p_h + p_l * _CP + np.where(one, _DP_L, 0.0)
    t, dp = n.astype(np.float64), np.where(one, _DP_H, 0.0)
    t1 = _short(((z_h + z_l) + dp) + t)
    return t1, z_l - (((t1 - t) - dp) - z_h)


def _log2_near_one(x: Numbers) -> tuple[Numbers, Numbers]:
    """The same for numbers so near to one that a huge power of them is finite."""
    t = x - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u, v = _INV_LN2_H * t, t * _INV_LN2_L - w * _INV_LN2
    t1 = _short(u + v)
    return t1, v - (t1 - u)


def _power(t1: Numbers, t2: Numbers, y: Numbers) -> Numbers:
    """Two to the power of y times a number given in two parts."""
    y1 = _short(y)
    p_l, p_h = (y - y1) * t1 + y * t2, y1 * t1
    z = p_l + p_h
    j, i = _high(z), _low(z)
    too_great = (j >= 0x40900000) & ((((j - 0x40900000) | i) != 0) | (p_l + _OVT > z - p_h))
    too_small = (j < 0) & ((j & 0x7FFFFFFF) >= 0x4090CC00)
    too_small &= (((j & 0xFFFFFFFF) != 0xC090CC00) | (i != 0)) | (p_l <= z - p_h)
    usual = ~(too_great | too_small)
    j = np.where(usual, j, 0)
    i = j & 0x7FFFFFFF
    k = (i >> 20) - 0x3FF
    n = (j & _LOW) + (np.int64(0x00100000) >> np.clip(k + 1, 0, 62))
    k2 = np.clip(((n & 0x7FFFFFFF) >> 20) - 0x3FF, 0, 20)
    masked = n & ~(np.int64(0x000FFFFF) >> k2) & _LOW
    t = (masked << 32).view(np.float64)
    steps = ((n & 0x000FFFFF) | 0x00100000) >> (20 - k2)
    steps = np.where(j < 0, -steps, steps)
    far = i > 0x3FE00000
    steps, p_h = np.where(far, steps, 0), np.where(far, p_h - t, p_h)
    t = _short(p_l + p_h)
    u, v = t * _LG2_H, (p_l - (t - p_h)) * _LG2 + t * _LG2_L
    z = u + v
    w = v - (z - u)
    t = z * z
    t1 = z - t * _series(t, _P)
    r = (z * t1) / (t1 - 2.0) - (w + z * w)
    z = 1.0 - (r - z)
    high = _high(z) + (steps << 20)
    found = np.where((high >> 20) <= 0, np.ldexp(z, steps.astype(np.int32)), _with_high(z, high))
    return np.where(too_great, np.inf, np.where(too_small, 0.0, found))


def _quietly(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    def run(*columns: Numbers) -> Numbers:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            return function(*(np.ascontiguousarray(c, np.float64) for c in columns))

    return run


FUNCTIONS: dict[str, Callable[..., Numbers]] = {
    "spark_exp": _quietly(exp),
    "spark_log": _quietly(log),
    "spark_log10": _quietly(log10),
}
"""Functions of one number."""
power = _quietly(pow_)
