"""Snippets that a source carries with it, by the name it calls them. Each is whole in itself and knows NumPy only."""

from __future__ import annotations

SNIPPETS: dict[str, str] = {
    "_dtype": '''
def _dtype(*arguments):
    """The common dtype of the arrays; Python numbers follow, integers become float64."""
    arrays = tuple(filter(lambda a: hasattr(a, "dtype"), arguments))
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
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out: {out.dtype} of the shape {out.shape}, expected {dtype} of the shape {shape}")
    return out
''',
    # 2**17 entries, half a megabyte in single precision: a few such arrays stay in a second-level cache.
    "_blocks": '''
def _blocks(size, arguments, results, wide=None):
    """Views of the arrays, each given with its number of own axes: some batch entries at a time, to stay in the cache.

    `size` is that of the largest array for one entry. All at once where the batch is small or arguments broadcast. In
    the place of views that are not `wide` there are copies that are; what is written to them is rounded to the results.
    """
    first, own = results[0]
    batch = first.shape[: first.ndim - own]
    count, rows = int(np.prod(batch)), max(1, 2**17 // size)
    arrays = [a.copy() if any(np.may_share_memory(a, r) for r, _ in results) else a for a, _ in arguments]
    arrays += [r for r, _ in results]
    ranks = [rank for _, rank in (*arguments, *results)]
    spread = any(rank and a.shape[: a.ndim - rank] != batch for a, rank in zip(arrays, ranks))
    if count <= rows or spread or not all(r.flags.c_contiguous for r, _ in results):
        steps = [slice(None)]
    else:
        steps = [slice(low, low + rows) for low in range(0, count, rows)]
        for place, rank in enumerate(ranks):
            if arrays[place].ndim > 0 or rank:
                whole = arrays[place]
                if whole.shape[: whole.ndim - rank] != batch:  # of a scalar
                    whole = np.broadcast_to(whole, batch)
                arrays[place] = whole.reshape(count, *whole.shape[whole.ndim - rank :])
    for step in steps:
        views = [a[step] if a.ndim > 0 else a for a in arrays]
        if wide is None or first.dtype == wide:
            yield views
            continue
        given, made = views[: len(arguments)], views[len(arguments) :]
        given = [v.astype(wide) if v.dtype == first.dtype else v for v in given]
        copies = [np.empty(v.shape, wide) for v in made]
        yield given + copies
        for view, copy in zip(made, copies):
            view[...] = copy
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
def _exp_difference(x, y, digits=True):
    """exp(x - y), where digits count with the rounding of the difference put back: d + e is x - y exactly."""
    if not np.any(y):
        return np.exp(x)
    d = np.asarray(x - y)
    if not digits:
        return np.exp(d, out=d)
    b = d - x
    e = np.asarray(d - b)
    np.subtract(x, e, out=e)
    b += y
    e -= b
    np.exp(d, out=d)
    e *= d
    e += d
    np.copyto(e, d, where=e != e)  # infinite scores
    return e
''',
    "_sum_of_others": '''
def _sum_of_others(x, place, digits=True):
    """The sum of numbers from 0 up along the last axis without the one at the place, where digits count rounded once.

    What is above a common unit adds up exactly, and what is below is too small to be rounded much.
    """
    x = np.array(x)
    np.put_along_axis(x, np.broadcast_to(place, x.shape[:-1])[..., None], 0, axis=-1)
    if not digits:
        return np.sum(x, axis=-1)
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
}
