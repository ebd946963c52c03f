"""Snippets that a source carries with it, by the name it calls them. Each is whole in itself and knows NumPy only."""

from __future__ import annotations

from derive.codegen import doubled_helpers

SNIPPETS: dict[str, str] = {
    "_dtype": '''
def _dtype(*arguments):
    """The common dtype of the arrays; Python numbers follow, integers become float64, others are a ValueError."""
    arrays = tuple(filter(lambda a: hasattr(a, "dtype"), arguments))
    for array in arrays:
        if array.dtype.kind not in "biufV":  # V: the narrow formats that NumPy itself has not
            raise ValueError(f"an array of {array.dtype}, expected real numbers")
    dtype = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype
''',
    "_size": '''
def _size(axis, name, array, place, known=None):
    """The size of the axis at that place of the array; ValueError where it is missing, empty or not the known one."""
    if array.ndim < -place:
        raise ValueError(f"axis {axis}: {name} has the shape {array.shape}, too few axes")
    size = array.shape[place]
    if size == 0 or known is not None and size != known:
        raise ValueError(f"axis {axis}: size {size} in {name}, expected {known or 'at least 1'}")
    return size
''',
    "_out": '''
def _out(out, shape, dtype):
    """The array for a result: a new one, or the given one; ValueError where that does not fit."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        found = f"{out.dtype} of the shape {out.shape}" if isinstance(out, np.ndarray) else out.__class__.__name__
        raise ValueError(f"out: {found}, expected {dtype} of the shape {shape}")
    return out
''',
    # 2**17 entries are a megabyte in double precision: a few such arrays stay close to the processor. NumPy repeats a
    # number for each entry of a row where its buffer holds several rows, which takes longer than the arithmetic.
    "_blocks": '''
def _blocks(size, dtype, arguments, results, room=()):
    """Views of the arrays, each given with its number of own axes: some batch entries at a time, to stay in the cache.

    `size` is that of the largest array for one entry. In the place of narrower numbers there are copies in the dtype;
    what is written to those of results is rounded to them. An argument with True behind it is copied for all of the
    batch, to be written into; a result with True behind it is given as it is. `room` are the own shapes of more arrays
    to write into.
    """
    first, own, *_ = results[0]
    batch, left, widths = first.shape[: first.ndim - own], max(1, 2**17 // size), []
    for length in batch[::-1]:
        widths.insert(0, max(1, min(length, left)))
        left //= widths[0]
    apart = [a.copy() if any(np.may_share_memory(a, r) for r, *_ in results) else a for a, *_ in arguments]
    held = {}

    def part(array, own, key):
        lengths = array.shape[: array.ndim - own]
        places = zip(key[len(key) - len(lengths) :], lengths)
        return array[(*(slice(None) if length == 1 else k for k, length in places), ...)]

    def space(name, shape):
        count = int(np.prod(shape))
        if name not in held:
            held[name] = np.empty(count, dtype)  # for the first block, the largest one
        return held[name][:count].reshape(shape)

    row = max([a.shape[-1] for a, k, *_ in (*arguments, *results) if k], default=0)
    before = np.setbufsize(row // 16 * 16) if 256 <= row < 8192 else np.getbufsize()
    try:
        for place in np.ndindex(*(-(-length // width) for length, width in zip(batch, widths))):
            key = [slice(p * width, p * width + width) for p, width in zip(place, widths)]
            rounded = [part(r, k, key) for r, k, *_ in results]
            lead = rounded[0].shape[: rounded[0].ndim - own]
            views = []
            for name, (array, (_, k, *written)) in enumerate(zip(apart, arguments)):
                view = part(array, k, key)
                if written or view.dtype == first.dtype != dtype:
                    copy = space(name, (lead + view.shape[view.ndim - k :]) if written else view.shape)
                    np.copyto(copy, view)
                    view = copy
                views.append(view)
            made = [
                view if view.dtype == dtype or plain else space(-1 - p, view.shape)
                for p, (view, (_, _, *plain)) in enumerate(zip(rounded, results))
            ]
            yield (*views, *made, *(space((p,), lead + shape) for p, shape in enumerate(room)))
            for view, copy in zip(rounded, made):
                if view is not copy:
                    view[...] = copy
    finally:
        np.setbufsize(before)
''',
    "_at_least": '''
def _at_least(axis, size, least):
    """ValueError where the axis lacks an entry that the formula names."""
    if size < least:
        raise ValueError(f"axis {axis}: size {size}, but the formula names entry {least - 1}")
''',
    "_check_index": '''
def _check_index(name, array, axis, size):
    """ValueError where the array does not hold indices of the axis."""
    if array.dtype.kind not in "iu" or np.any((array < 0) | (array >= size)):
        raise ValueError(f"axis {axis}: {name} must hold integers from 0 to {size - 1}")
''',
    "_pick": '''
def _pick(array, index):
    """array[..., index]: the last axis is indexed, the others broadcast against the index."""
    rank = max(array.ndim, index.ndim + 1)
    array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    index = index.reshape((1,) * (rank - 1 - index.ndim) + index.shape)
    return np.take_along_axis(array, index[..., None], axis=-1)[..., 0]
''',
    "_exp_difference": '''
def _exp_difference(x, y, out=None):
    """exp(x - y) with the rounding of the difference put back: d + e is x - y exactly."""
    if not np.any(y):
        return np.exp(x, out=out)
    d = np.asarray(np.subtract(x, y, out=out))
    b = d - x
    e = np.asarray(d - b)
    np.subtract(x, e, out=e)
    b += y
    e -= b
    np.exp(d, out=d)
    e *= d
    np.copyto(e, 0, where=e != e)  # infinite scores
    d += e
    return d
''',
    "_dot_of_present": '''
def _dot_of_present(x, y):
    """The sum of x*y along the last axis; beside a 0 in x an infinite y does not count."""
    total = np.asarray(np.vecdot(x, y))
    lost = np.isnan(total)
    return np.where(lost, np.vecdot(x, np.where(x == 0, 0, y)), total) if np.any(lost) else total
''',
    "_difference": '''
def _difference(x, y):
    """x - y and what it was rounded by, which is 0 for infinite numbers."""
    d = np.asarray(np.subtract(x, y))
    b = d - x
    e = np.subtract(x, d - b) - (b + y)
    return d, np.where(e == e, e, 0)
''',
    "_product": '''
def _product(x, y):
    """x * y and, in double precision, what it was rounded by, from products of halves that are exact."""
    p = np.asarray(np.multiply(x, y))
    if p.dtype != np.float64:
        return p, np.zeros((), p.dtype)
    a, b = 134217729.0 * x, 134217729.0 * y
    a, b = a - (a - x), b - (b - y)
    return p, ((a * b - p) + a * (y - b) + (x - a) * b) + (x - a) * (y - b)
''',
    "_exp_quotient": '''
def _exp_quotient(x, y, factor):
    """exp((x - y)/factor) with the roundings of the difference and, in double precision, the quotient put back."""
    d, e = _difference(x, y)
    q = d / factor
    p, rest = _product(q, factor)
    if p.dtype == np.float64:
        e = e + ((d - p) - rest)
    value = np.exp(q)
    e = value * (e / factor)
    return value + np.where(np.isfinite(e), e, 0)
''',
    "_exp_product": '''
def _exp_product(x, y, factor):
    """exp((x - y)*factor) with the roundings of the difference and, in double precision, the product put back."""
    d, e = _difference(x, y)
    p, rest = _product(d, factor)
    value = np.exp(p)
    e = value * (rest + e * factor)
    return value + np.where(np.isfinite(e), e, 0)
''',
    "_sum_of_others": '''
def _sum_of_others(x, place):
    """The sum of numbers from 0 up along the last axis without the one at the place."""
    x = np.array(x)
    np.put_along_axis(x, np.broadcast_to(place, x.shape[:-1])[..., None], 0, axis=-1)
    return np.sum(x, axis=-1)
''',
    "_exact_sum_of_others": '''
def _exact_sum_of_others(x, place):
    """The sum of numbers from 0 up along the last axis without the one at the place, rounded once.

    What is above a common unit adds up exactly, and what is below is too small to be rounded much.
    """
    x = np.array(x)
    np.put_along_axis(x, np.broadcast_to(place, x.shape[:-1])[..., None], 0, axis=-1)
    most = np.frexp(np.max(x, axis=-1, keepdims=True))[1] + x.shape[-1].bit_length() + 1
    unit = np.ldexp(np.ones((), x.dtype), most)
    high = x + unit
    high -= unit
    x -= high
    return np.sum(high, axis=-1) + np.sum(x, axis=-1)
''',
    "_sigmoid": '''
def _sigmoid(x):
    """1 / (1 + exp(-x)), by the sign of x so that nothing overflows."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, e) / (1 + e)
''',
    # Chebyshev fits, relative error below 1e-18: erf(x)/x in x**2 up to 1; x exp(x**2) erfc(x) in (x - 2.5)/(x + 2.5).
    "_erf": '''
def _erf(x):
    """The error function, in float64 within a few units of the last place."""
    y = np.asarray(x, np.float64)
    a = np.minimum(np.abs(y), 6.0)
    near = (
        5.957176147748911e-11, -1.1372848856791674e-09, 1.4659775274047436e-08, -1.6350312701054695e-07,
        1.6461000484121368e-06, -1.4925595266831182e-05, 0.0001205533111164271, -0.000854832698083379,
        0.0052239776248180145, -0.026866170645076792, 0.11283791670954879, -0.3761263890318375,
        1.1283791670955126,
    )
    far = (
        2.015458113988428e-07, -7.761473382477333e-07, -2.1252664641966346e-06, 2.145474723065239e-06,
        1.2492002420923827e-05, -6.326873558029237e-07, -6.60673149121921e-05, -2.7149619978785866e-05,
        0.0003805006560962691, 0.0001317427889847674, -0.0026289968899182053, 0.0017871293880860032,
        0.018377297217102892, -0.07144479755702313, 0.14133148570102613, -0.175368866395526,
        0.12468998543328451, 0.527015910152859,
    )
    b = np.maximum(a, 1.0)
    tail = 1 - np.exp(-b * b) / b * np.polyval(far, (b - 2.5) / (b + 2.5))
    small = y * np.polyval(near, np.minimum(a, 1.0) ** 2)
    return np.where(a < 1, small, np.copysign(tail, y)).astype(np.asarray(x).dtype)
''',
    # A Chebyshev fit of lgamma(x)/((x - 1)(x - 2)) between 0.75 and 2.5, which keeps the zeros; Stirling's series
    # beyond 4.5.
    "_lgamma": '''
def _lgamma(x):
    """The logarithm of the gamma function above 0, in float64 within some units of the last place."""
    y = np.asarray(x, np.float64)
    fit = (
        -5.128646545161241e-08, 8.55544865388953e-08, 1.713074986918705e-07, -2.8541671901315694e-07,
        -3.9599111188526663e-07, 6.605122936726989e-07, 3.475458610240941e-07, -5.772024072873174e-07,
        -6.518232470267981e-07, 1.0932014787781775e-06, -5.749095986617479e-07, 9.829887008295024e-07,
        -2.3992691693171087e-06, 4.086618551538624e-06, -6.680259654660327e-06, 1.1448766787903002e-05,
        -1.9771196965922075e-05, 3.409779001079834e-05, -5.901308839100315e-05, 0.00010262430501583676,
        -0.00017939109033567329, 0.0003154946298631393, -0.0005589495972679258, 0.0009992727366728202,
        -0.0018070640256027373, 0.0033172708603332163, -0.006215450413522007, 0.011991915956979498,
        -0.02419443643070062, 0.052579426220434045, -0.13157899128683392, 0.46580963736232694,
    )
    steps = np.clip(np.ceil(y - 2.5), 0, 2)  # how often lgamma(y) = lgamma(y - 1) + log(y - 1) is used
    b = np.clip(np.where(y < 0.75, y + 1, y - steps), 0.75, 2.5)
    near = (b - 1) * (b - 2) * np.polyval(fit, b - 1.625)
    near = near + np.where(y < 0.75, -np.log(y), np.log(np.where(steps > 0, b, 1) * np.where(steps > 1, b + 1, 1)))
    low = y < 10
    w = np.where(low, np.maximum(y, 4.5) + 7, y)
    series = (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
    far = (w - 0.5) * np.log(w) - w + 0.5 * np.log(2 * np.pi) + np.polyval(series, 1 / (w * w)) / w
    far = far - np.where(low, np.log(np.prod(np.clip(y, 4.5, 10.0)[..., None] + np.arange(7), axis=-1)), 0.0)
    return np.where(y > 0, np.where(y < 4.5, near, far), np.nan).astype(np.asarray(x).dtype)
''',
    # A Chebyshev fit of digamma(x)/(x - r) between 1 and 2, r its root in two parts; the asymptotic series beyond 3.
    "_digamma": '''
def _digamma(x):
    """The derivative of lgamma above 0, in float64 within a few units of the last place."""
    y = np.asarray(x, np.float64)
    fit = (
        -8.153978973309418e-05, 0.00012230983055406747, -6.11554261750751e-05, 9.173383289174792e-05,
        -0.0002178682145501451, 0.0003268068044141764, -0.0004599625144612576, 0.0006899717801166841,
        -0.001042261556504223, 0.0015635679757533885, -0.002344650082351321, 0.0035180800751066694,
        -0.00528001782089874, 0.007927024067961237, -0.011908215172584002, 0.017907248195969127,
        -0.02697579684427536, 0.04076083394462657, -0.06192213327165706, 0.09498872445283,
        -0.14840492305391761, 0.24054248424078736, -0.42362742128146047, 0.9510558760318328,
    )
    b = np.clip(np.where(y < 1, y + 1, np.where(y > 2, y - 1, y)), 1.0, 2.0)
    near = (b - 1.4616321449683622 - 9.549995429965697e-17) * np.polyval(fit, b - 1.5)
    near = near + np.where(y < 1, -1 / y, np.where(y > 2, 1 / (np.maximum(y, 2.0) - 1), 0.0))
    high = np.maximum(y, 3.0)
    w = high + 8
    series = (-1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12, 0.0)
    far = np.log(w) - 0.5 / w + np.polyval(series, 1 / (w * w)) - np.sum(1 / (high[..., None] + np.arange(8)), axis=-1)
    return np.where(y > 0, np.where(y < 3, near, far), np.nan).astype(np.asarray(x).dtype)
''',
    "_trigamma": '''
def _trigamma(x):
    """The derivative of digamma above 0, in float64 within a few units of the last place."""
    y = np.asarray(x, np.float64)
    w = y + 12
    series = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6, 0.0)
    rest = 1 / w + 0.5 / (w * w) + np.polyval(series, 1 / (w * w)) / w
    value = np.sum(1 / (y[..., None] + np.arange(12)) ** 2, axis=-1) + rest
    return np.where(y > 0, value, np.nan).astype(np.asarray(x).dtype)
''',
} | doubled_helpers.SNIPPETS
