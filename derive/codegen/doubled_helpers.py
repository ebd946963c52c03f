"""Snippets for numbers carried as unevaluated sums of two, head + tail, stacked along a first axis.

In double precision a head has at most 26 bits, so that the product of two heads is exact; the tail holds the rest, so
that together they have more than 75 bits. In a wider format the head is the whole number.
"""

from __future__ import annotations

SNIPPETS: dict[str, str] = {
    "_doubled": '''
def _doubled(x, rest):
    """x + rest as two numbers along a first axis, the first of at most 26 bits in double precision."""
    x = np.asarray(x)
    both = np.empty((2, *x.shape), x.dtype)
    head, tail = both[0, ...], both[1, ...]
    if x.dtype == np.float64:
        np.bitwise_and(x.view(np.int64), -(2**27), out=head.view(np.int64))
    else:
        head[...] = x
    np.subtract(x, head, out=tail)
    tail += rest
    return both
''',
    "_within": '''
def _within(c, x):
    """c between the least and the largest number along the last axis: that number itself where all are the same."""
    return np.clip(c[..., 0], np.min(x, axis=-1), np.max(x, axis=-1))
''',
    "_doubled_difference": '''
def _doubled_difference(x, y):
    """x - y, exactly, as two numbers along a first axis."""
    d = np.asarray(np.subtract(x, y))
    b = d - x
    e = np.asarray(d - b)
    np.subtract(x, e, out=e)
    b += y
    e -= b
    return _doubled(d, e)
''',
    # d is k log(2) + r with k an integer, which the last bits of what is added to round hold; log(2) is in two parts,
    # the first of 32 bits. exp(r) is 1 + r + r c/(2 - c) with c = r - r**2 p, p a Chebyshev fit in r**2: off by 1e-18.
    "_doubled_exp": '''
def _doubled_exp(x, y):
    """exp(x - y) as two numbers along a first axis, in double precision with about 55 bits right."""
    shape = np.broadcast_shapes(np.shape(x), np.shape(y))
    x, y = np.atleast_1d(x, y)
    d, e = np.subtract(x, y), None
    if np.any(y):
        b = d - x
        e = d - b
        np.subtract(x, e, out=e)
        b += y
        e -= b
    double = d.dtype == np.float64
    ordinary = double and np.min(d) > -700 and np.max(d) < 700
    if not ordinary:  # few bits are left there, and infinite scores are there too
        straight = np.exp(d)
        low = np.logical_not(np.abs(d) < 700)
        np.copyto(d, 0, where=low)
        e = np.zeros_like(d) if e is None else e
        np.copyto(e, 0, where=low)
        if not double:
            return _doubled(straight, straight * e).reshape(2, *shape)
    k = d * 1.4426950408889634
    k += 1.5 * 2.0**52 + 1023
    power = np.left_shift(k.view(np.int64), 52).view(np.float64)
    k -= 1.5 * 2.0**52 + 1023
    a = k * 0.6931471803691238
    d -= a
    k *= 1.9082149292705877e-10
    np.subtract(d, k, out=a)
    d -= a
    d -= k
    if e is not None:
        d += e
    square = np.multiply(a, a, out=k)
    q = square * 4.1437662804024295e-08
    for factor in (-1.6534060033836456e-06, 6.613756471622828e-05, -0.0027777777777564404, 0.1666666666666666):
        q += factor
        q *= square
    np.subtract(a, q, out=q)
    whole = np.subtract(2, q, out=k)
    q *= a
    q /= whole
    np.add(a, q, out=whole)
    whole += 1
    d *= whole
    q += d
    both = np.empty((2, *d.shape))
    head, tail = both
    np.bitwise_and(whole.view(np.int64), -(2**27), out=head.view(np.int64))
    np.subtract(1, head, out=tail)
    tail += a
    tail += q
    head *= power
    tail *= power
    if not ordinary:
        np.copyto(head, straight, where=low)
        np.copyto(tail, 0, where=low)
    return both.reshape(2, *shape)
''',
    "_exactly_added": '''
def _exactly_added(x, most):
    """The sum along the last axis of numbers up to `most`: of what is above a unit, exactly, and of what is below."""
    unit = np.ldexp(np.ones((), x.dtype), np.frexp(most)[1] + x.shape[-1].bit_length() + 1)[..., None]
    high = x + unit
    high -= unit
    return np.sum(high, axis=-1), np.sum(np.subtract(x, high, out=high), axis=-1)
''',
    "_doubled_sum": '''
def _doubled_sum(x):
    """The sum of doubled numbers from 0 up along the last axis."""
    high, low = _exactly_added(x[0], np.max(x[0], axis=-1))
    return _doubled(high, low + np.sum(x[1], axis=-1))
''',
    "_doubled_dot": '''
def _doubled_dot(x, y):
    """The sum of products of doubled numbers along the last axis."""
    t = x[0] * y[0]
    high, low = _exactly_added(t, np.maximum(np.max(t, axis=-1), -np.min(t, axis=-1)))
    return _doubled(high, low + np.vecdot(x[0], y[1]) + np.vecdot(x[1], y[0]) + np.vecdot(x[1], y[1]))
''',
    "_doubled_quotient": '''
def _doubled_quotient(x, y):
    """x / y, doubled numbers."""
    whole = y[0] + y[1]
    both = _doubled((x[0] + x[1]) / whole, 0)
    both[1] = ((x[0] - both[0] * y[0]) + (x[1] - both[0] * y[1])) / whole
    return both
''',
    "_less": '''
def _less(x, y):
    """x - y, doubled numbers, rounded."""
    t = x[1] - y[1]
    t -= y[0]
    t += x[0]
    return t
''',
    "_share_times_difference": '''
def _share_times_difference(x, total, y, z, out=None):
    """x/total*(y - z), doubled numbers: quotient, difference and product are rounded once each."""
    whole = total[0] + total[1]
    lost = ((total[0] - whole) + total[1]) / whole
    slack = x[0] + 1e-300
    np.divide(x[1], slack, out=slack)
    t = y[0] - (z[0] + z[1])
    t += y[1]
    t = t * (slack - lost)
    t += y[1]
    t -= z[1]
    t -= z[0]
    t += y[0]
    share = np.divide(x[0], whole, out=out)
    share *= t
    return share
''',
}
