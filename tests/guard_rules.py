"""Right and wrong implementations for the tests of the guard, as a tired author writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Kernel = Callable[..., Any]

NORMS = '''"""Normalisations, written out for a kernel's tests."""

n: axis
x: real[n]
w: real[n]
g: real[n]
eps: positive

mu = sum(x[i] for i in n) / n
v = sum((x[i] - mu) ** 2 for i in n) / n
r = 1 / sqrt(v + eps)
xhat[i] = (x[i] - mu) * r
layer_norm[i] = w[i] * xhat[i]
c[i] = w[i] * g[i]
layer_norm_dx[i] = r * (c[i] - sum(c[j] for j in n) / n - xhat[i] * (sum(c[j] * xhat[j] for j in n) / n))

q = sum(x[i] ** 2 for i in n) / n + eps
rho = 1 / sqrt(q)
rms_norm[i] = w[i] * x[i] * rho
rms_norm_dx[i] = rho * (c[i] - x[i] * (sum(c[j] * x[j] for j in n) / (n * q)))
'''


@dataclass(frozen=True)
class Wrong:
    """A wrong rule; `named` is a part of the words that may name it, None where nothing may fit."""

    name: str
    formula: str
    kernel: Kernel
    named: str | None = None
    tiny: bool = False  # below what float32 can tell at any input


def total(x: Any) -> Any:
    return x.sum(-1, keepdims=True)


def softmax(z: Any) -> Any:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / total(e)


def backward(rule: Callable[[Any, Any], Any]) -> Kernel:
    return lambda z, g: np.asarray(rule(softmax(z), g)).astype(z.dtype)


def low(x: Any) -> Any:
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16)


SOFTMAX = [
    Wrong("dropped term", "softmax.vjp", backward(lambda s, g: s * g), "-sum(g[i]*s[i] for i in n) is missing"),
    Wrong("sign of the dot", "softmax.vjp", backward(lambda s, g: s * (g + total(s * g))), "sign of the term"),
    Wrong("sign", "softmax.vjp", backward(lambda s, g: -s * (g - total(s * g))), "minus"),
    Wrong("zeros", "softmax.vjp", backward(lambda s, g: 0 * s), "0 in every entry"),
    Wrong("last left out", "softmax.vjp", backward(lambda s, g: s * (g - total((s * g)[..., :-1]))), "last term"),
    Wrong("one percent", "softmax.vjp", backward(lambda s, g: (s * (g - total(s * g))) * s.dtype.type(1.01)), "1.01"),
    Wrong("1e-4", "softmax.vjp", backward(lambda s, g: (s * (g - total(s * g))) * s.dtype.type(1 + 1e-4)), "1.0001"),
    Wrong(
        "1e-6",
        "softmax.vjp",
        backward(lambda s, g: (s * (g - total(s * g))) * s.dtype.type(1 + 1e-6)),
        "1.000001",
        True,
    ),
    Wrong("bfloat16 dot", "softmax.vjp", backward(lambda s, g: s * (g - total(low(s) * low(g)).astype(s.dtype)))),
    Wrong("diagonal only", "softmax.vjp", backward(lambda s, g: s * (1 - s) * g), "only the term i = j"),
    Wrong("mean for sum", "softmax.vjp", backward(lambda s, g: s * (g - (s * g).mean(-1, keepdims=True))), "is a mean"),
    Wrong("1/n", "softmax.vjp", backward(lambda s, g: s * (g - total(s * g)) / s.dtype.type(s.shape[-1])), "1/n times"),
]


def by_blocks(z: Any, g: Any, width: int = 8) -> Any:
    """Blocks of a fixed width, and what does not fill one forgotten in the dot product."""
    s = softmax(z)
    full = s.shape[-1] // width * width if s.shape[-1] > width else s.shape[-1]
    return (s * (g - total((s * g)[..., :full]))).astype(z.dtype)


def padded(z: Any, g: Any, width: int = 8) -> Any:
    """Rows padded with zeros instead of minus infinity before the exponential."""
    more = -z.shape[-1] % width
    wide = np.concatenate([z, np.zeros((*z.shape[:-1], more), z.dtype)], -1)
    s = softmax(wide)[..., : z.shape[-1]]
    return (s * (g - total(s * g))).astype(z.dtype)


def guarded(z: Any, g: Any) -> Any:
    """A normaliser with something added lest it be 0, which it never is."""
    e = np.exp(z - z.max(-1, keepdims=True))
    s = e / (total(e) + z.dtype.type(1e-3))
    return (s * (g - total(s * g))).astype(z.dtype)


MORE_SOFTMAX = [
    Wrong("outer factor missing", "softmax.vjp", backward(lambda s, g: g - total(s * g)), "factor s[j] is missing"),
    Wrong("factor twice", "softmax.vjp", backward(lambda s, g: s * s * (g - total(s * g))), "factor s[j] stands twice"),
    Wrong("first left out", "softmax.vjp", backward(lambda s, g: s * (g - total((s * g)[..., 1:]))), "first term"),
    Wrong("dot without weights", "softmax.vjp", backward(lambda s, g: s * (g - total(g))), "factor s[i] is missing"),
    Wrong("scores for outputs", "softmax.vjp", lambda z, g: z * (g - total(z * g))),
    Wrong("dot with the scores", "softmax.vjp", lambda z, g: softmax(z) * (g - total(z * g)), "z[i] stands for s[i]"),
    Wrong("reversed", "softmax.vjp", backward(lambda s, g: (s * (g - total(s * g)))[..., ::-1])),
    Wrong("rolled", "softmax.vjp", backward(lambda s, g: np.roll(s * (g - total(s * g)), 1, -1)), "off by one"),
    Wrong("clipped", "softmax.vjp", backward(lambda s, g: np.clip(s * (g - total(s * g)), -0.05, 0.05))),
    Wrong("constant added", "softmax.vjp", backward(lambda s, g: s * (g - total(s * g)) + s.dtype.type(1e-3))),
    Wrong("twice", "softmax.vjp", backward(lambda s, g: 2 * s * (g - total(s * g))), "twice"),
    Wrong("tail of the blocks", "softmax.vjp", by_blocks),
    Wrong("padded with zeros", "softmax.vjp", padded),
    Wrong("normaliser guarded", "softmax.vjp", guarded),
    Wrong("not shifted back", "log_sum_exp.lse", lambda z: np.log(np.exp(z - z.max()).sum()).astype(z.dtype)),
    Wrong("diagonal", "softmax.jacobian", lambda z: np.diag(softmax(z) * (1 - softmax(z))), "i != j are missing"),
    Wrong("no diagonal", "softmax.jacobian", lambda z: -softmax(z)[:, None] * softmax(z), "delta(i, j) is missing"),
]


def entropy(rule: Callable[[Any, Any], Any]) -> Kernel:
    return lambda z, y: np.asarray(rule(softmax(z), y)).astype(z.dtype)


def logs(rule: Callable[[Any, Any], Any]) -> Kernel:
    return lambda z, g: np.asarray(rule(softmax(z), g)).astype(z.dtype)


CROSS_ENTROPY = [
    Wrong("sign", "cross_entropy.gradient", entropy(lambda s, y: y - s), "minus"),
    Wrong("label missing", "cross_entropy.gradient", entropy(lambda s, y: s), "-y[i] is missing"),
    Wrong("softmax missing", "cross_entropy.gradient", entropy(lambda s, y: -y), "s[i] is missing"),
    Wrong("plus", "cross_entropy.gradient", entropy(lambda s, y: s + y), "sign of the term -y[i]"),
    Wrong("1/n", "cross_entropy.gradient", entropy(lambda s, y: (s - y) / s.dtype.type(s.shape[-1])), "1/n times"),
    Wrong("through the softmax again", "cross_entropy.gradient", entropy(lambda s, y: s * (s - y))),
    Wrong("batch mean missing", "cross_entropy.mean_over_a_batch", lambda X, target: _one_hot(X, target), "B times"),
    Wrong(
        "label one off",
        "cross_entropy.mean_over_a_batch",
        lambda X, target: _one_hot(X, (target + 1) % X.shape[-1]) / X.dtype.type(len(X)),
        "off by one",
    ),
]
MORE_CROSS_ENTROPY = [
    Wrong("label twice", "cross_entropy.gradient", entropy(lambda s, y: s - 2 * y)),
    Wrong("label smoothed", "cross_entropy.gradient", entropy(lambda s, y: s - (s.dtype.type(0.9) * y))),
    Wrong("one missing", "cross_entropy.gradient", entropy(lambda s, y: s - y - 1)),
    Wrong("product", "cross_entropy.gradient", entropy(lambda s, y: s * y)),
    Wrong(
        "last class forgotten",
        "cross_entropy.gradient",
        entropy(lambda s, y: np.where(np.arange(s.size) < s.size - 1, s - y, s)),
    ),
    Wrong("loss: sign", "cross_entropy.loss", lambda z, y: (y * log_softmax(z)).sum(-1), "minus"),
    Wrong("loss: mean", "cross_entropy.loss", lambda z, y: -(y * log_softmax(z)).mean(-1), "1/n times"),
    Wrong("loss: labels", "cross_entropy.loss", lambda z, y: -log_softmax(z).sum(-1), "factor y[k] is missing"),
    Wrong("loss: softmax", "cross_entropy.loss", lambda z, y: -(y * softmax(z)).sum(-1), "s[k] stands for log(s[k])"),
    Wrong(
        "batch twice",
        "cross_entropy.mean_over_a_batch",
        lambda X, target: _one_hot(X, target) / X.dtype.type(len(X) ** 2),
        "1/B times",
    ),
    Wrong(
        "softmax over the batch",
        "cross_entropy.mean_over_a_batch",
        lambda X, target: (softmax(X.T).T - (softmax(X) - _one_hot(X, target))) / X.dtype.type(len(X)),
    ),
]
LOG_SOFTMAX = [
    Wrong("dot for sum", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g - s * total(s * g))),
    Wrong("softmax missing", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g - total(g)), "factor s[j] is missing"),
    Wrong("only the cotangent", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g), "is missing"),
    Wrong("diagonal only", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g * (1 - s)), "only the term"),
    Wrong(
        "mean for sum", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g - s * g.mean(-1, keepdims=True)), "is a mean"
    ),
    Wrong("plus", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g + s * total(g)), "sign of the term"),
]
MORE_LOG_SOFTMAX = [
    Wrong("softmax of the cotangent", "log_sum_exp.log_softmax_vjp", lambda z, g: g - softmax(g) * total(g)),
    Wrong("weights twice", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: s * (g - s * total(g)))),
    Wrong("last left out", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g - s * total(g[..., :-1])), "last term"),
    Wrong("sign", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: s * total(g) - g), "minus"),
    Wrong("softmax backward", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: s * (g - total(s * g)))),
    Wrong("forward: not a logarithm", "log_sum_exp.log_softmax", lambda z: softmax(z)),
    Wrong("forward: maximum only", "log_sum_exp.log_softmax", lambda z: z - z.max()),
]


def layer_norm_dx(
    x: Any, w: Any, g: Any, eps: Any, mean: bool = True, dot: bool = True, bessel: bool = False, weight: bool = True,
    scale: bool = True, guard: bool = True, sign: int = 1, outside: bool = False, centre: bool = True,
    averaged: bool = True, raw: bool = False, twice: bool = False,
) -> Any:  # fmt: skip
    n = x.dtype.type(x.shape[-1])
    centred = x - total(x) / n
    v = total(centred * centred) / (n - 1 if bessel else n)
    r = 1 / (np.sqrt(v) + eps if outside else np.sqrt(v + eps if guard else v))
    xhat, c = (centred if centre else x) * r, (w * g if weight else g)
    found = c
    if mean:
        found = found - total(c) / n
    if dot:
        found = found - sign * xhat * (total(c * (x if raw else xhat)) / (n if averaged else 1))
    return (found * r * (r if twice else 1) if scale else found).astype(x.dtype)


def rms_norm_dx(
    x: Any,
    w: Any,
    g: Any,
    eps: Any,
    dot: bool = True,
    mean: bool = True,
    weight: bool = True,
    cubed: bool = True,
    sign: int = 1,
    outside: bool = False,
    guard: bool = True,
    squared: bool = False,
    scale: bool = True,
    bessel: bool = False,
) -> Any:
    n = x.dtype.type(x.shape[-1])
    q = total(x * x) / (n - 1 if bessel else n) + (eps if guard else 0)
    rho = 1 / (np.sqrt(q - eps) + eps if outside else q if squared else np.sqrt(q) if scale else 1)
    c = w * g if weight else g
    inner = total(c * x) / (n if mean else 1) / (q if cubed else 1)
    return (rho * (c - sign * x * inner if dot else c)).astype(x.dtype)


def wrong_norms(path: str) -> list[Wrong]:
    """Wrong rules for the normalisations in the file."""

    def layer(name: str, named: str | None, **options: Any) -> Wrong:
        kernel = lambda x, w, g, eps: layer_norm_dx(x, w, g, eps, **options)  # noqa: E731
        return Wrong(f"layer norm: {name}", f"{path}:layer_norm_dx", kernel, named)

    def rms(name: str, named: str | None, **options: Any) -> Wrong:
        kernel = lambda x, w, g, eps: rms_norm_dx(x, w, g, eps, **options)  # noqa: E731
        return Wrong(f"RMS norm: {name}", f"{path}:rms_norm_dx", kernel, named)

    return [
        layer("mean term missing", "-(sum(c[j] for j in n)/n) is missing", mean=False),
        layer("dot term missing", "-(xhat[i]*(sum(c[j]*xhat[j] for j in n)/n)) is missing", dot=False),
        layer("n - 1", "n - 1", bessel=True),
        layer("weight missing", "factor w[i] is missing", weight=False),
        layer("1/sigma missing", "factor r is missing", scale=False),
        layer("eps missing", "eps is missing", guard=False),
        layer("sign", "sign of the term", sign=-1),
        rms("dot missing", "is missing", dot=False),
        rms("mean missing", "factor n is missing", mean=False),
        rms("weight missing", "factor w[i] is missing", weight=False),
        rms("not cubed", "factor q is missing", cubed=False),
        rms("sign", "sign of the term", sign=-1),
        layer("eps outside the root", None, outside=True),
        layer("not centred", "-mu is missing", centre=False),
        layer("sum for mean", "division by n is missing", averaged=False),
        layer("dot with x", "x[j] stands for xhat[j]", raw=True),
        layer("1/sigma twice", "factor r stands twice", twice=True),
        layer("only the scale", None, mean=False, dot=False),
        layer("weight and dot missing", None, weight=False, dot=False),
        rms("eps outside the root", None, outside=True),
        rms("eps missing", "eps is missing", guard=False),
        rms("no root", "factor rho stands twice", squared=True),
        rms("scale missing", "factor rho is missing", scale=False),
        rms("n - 1", "n - 1", bessel=True),
        Wrong("layer norm: n - 1", f"{path}:layer_norm", lambda x, w, eps: (
              w * (x - x.mean()) / np.sqrt(x.var() * x.size / (x.size - 1) + eps)).astype(x.dtype), "n - 1"),
        Wrong("layer norm: no mean", f"{path}:layer_norm",
              lambda x, w, eps: (w * x / np.sqrt(x.var() + eps)).astype(x.dtype), "-mu is missing"),
        Wrong("RMS norm: centred", f"{path}:rms_norm",
              lambda x, w, eps: (w * x / np.sqrt(x.var() + eps)).astype(x.dtype)),
    ]  # fmt: skip


def attention(which: str, **options: Any) -> Kernel:
    """A backward pass of attention as it is written by hand, with one thing changed."""

    def kernel(Q: Any, K: Any, V: Any, dO: Any) -> Any:
        d = Q.dtype.type(Q.shape[-1])
        S = Q @ K.T * (1 if options.get("unscaled") else 1 / d if options.get("by_d") else 1 / np.sqrt(d))
        P = softmax(S.T).T if options.get("columns") else softmax(S)
        if options.get("causal"):
            P = np.tril(P) / total(np.tril(P))
        if which == "dV":
            return ((P if options.get("transposed") else P.T) @ dO).astype(Q.dtype)
        dP = dO @ V.T
        D = 0 if options.get("row") else total(dP) if options.get("unweighted") else total(dO * (P @ V))
        D = D / d if options.get("averaged") else D
        dS = (dP - D) if options.get("weights") else P * (dP + D if options.get("plus") else dP - D)
        dS = P if options.get("of_weights") else P * (1 - P) * dP if options.get("diagonal") else dS
        scale = 1 if options.get("scale") else 1 / d if options.get("twice") else 1 / np.sqrt(d)
        scale = -scale if options.get("minus") else scale
        if which == "dQ":
            return (dS @ K * scale).astype(Q.dtype)
        return ((dS if options.get("transposed") else dS.T) @ Q * scale).astype(Q.dtype)

    return kernel


ATTENTION = [
    Wrong("dQ: scale missing", "attention.dQ", attention("dQ", scale=True), "sqrt(d) times"),
    Wrong("dQ: scale twice", "attention.dQ", attention("dQ", twice=True), "1/sqrt(d) times"),
    Wrong("dQ: row sum missing", "attention.dQ", attention("dQ", row=True), "-D[i] is missing"),
    Wrong("dQ: row sum added", "attention.dQ", attention("dQ", plus=True), "sign of the term -D[i]"),
    Wrong("dQ: weights missing", "attention.dQ", attention("dQ", weights=True), "factor P[i, j] is missing"),
    Wrong("dK: scale missing", "attention.dK", attention("dK", scale=True), "sqrt(d) times"),
    Wrong("dK: row sum missing", "attention.dK", attention("dK", row=True), "-D[i] is missing"),
    Wrong("dK: not transposed", "attention.dK", attention("dK", transposed=True), "transposed"),
    Wrong("dV: not transposed", "attention.dV", attention("dV", transposed=True), "transposed"),
    Wrong("dV: scores unscaled", "attention.dV", attention("dV", unscaled=True), "division by sqrt(d) is missing"),
]
MORE_ATTENTION = [
    Wrong("dQ: sign", "attention.dQ", attention("dQ", minus=True), "minus"),
    Wrong(
        "dQ: row sum without weights",
        "attention.dQ",
        attention("dQ", unweighted=True),
        "in O, the factor P[i, j] is missing",
    ),
    Wrong("dQ: row sum over d", "attention.dQ", attention("dQ", averaged=True)),
    Wrong("dQ: diagonal of the softmax", "attention.dQ", attention("dQ", diagonal=True)),
    Wrong(
        "dQ: weights for their gradient",
        "attention.dQ",
        attention("dQ", of_weights=True),
        "in dS, the factor dP[i, j] - D[i] is missing",
    ),
    Wrong("dQ: scores unscaled", "attention.dQ", attention("dQ", unscaled=True), "division by sqrt(d) is missing"),
    Wrong("dQ: scores over d", "attention.dQ", attention("dQ", by_d=True), "division by sqrt(d) stands twice"),
    Wrong("dQ: causal where it is not", "attention.dQ", attention("dQ", causal=True)),
    Wrong("dK: sign", "attention.dK", attention("dK", minus=True), "minus"),
    Wrong("dK: scale twice", "attention.dK", attention("dK", twice=True), "1/sqrt(d) times"),
    Wrong("dK: row sum added", "attention.dK", attention("dK", plus=True), "sign of the term -D[i]"),
    Wrong("dK: weights missing", "attention.dK", attention("dK", weights=True), "factor P[i, j] is missing"),
    Wrong("dV: causal where it is not", "attention.dV", attention("dV", causal=True)),
    Wrong("dV: softmax over the queries", "attention.dV", attention("dV", columns=True)),
    Wrong(
        "O: not weighted", "attention.O", lambda Q, K, V: np.ones((len(Q), len(K)), Q.dtype) @ V, "P[i, j] is missing"
    ),
    Wrong("O: scale missing", "attention.O", lambda Q, K, V: softmax(Q @ K.T) @ V, "division by sqrt(d) is missing"),
]


def rules(path: str) -> list[Wrong]:
    """All of them, the norms' formulas from the file."""
    return [
        *SOFTMAX, *MORE_SOFTMAX, *CROSS_ENTROPY, *MORE_CROSS_ENTROPY, *LOG_SOFTMAX, *MORE_LOG_SOFTMAX,
        *wrong_norms(path), *ATTENTION, *MORE_ATTENTION,
    ]  # fmt: skip


def _one_hot(X: Any, target: Any) -> Any:
    found = softmax(X)
    found[np.arange(len(X)), target] -= 1
    return found


def log_softmax(z: Any) -> Any:
    shifted = z - z.max(-1, keepdims=True)
    return shifted - np.log(total(np.exp(shifted)))


def right(path: str) -> list[tuple[str, str, Kernel]]:
    """Right implementations: name, formula, kernel."""

    def logsumexp(z: Any) -> Any:
        top = z.max(-1, keepdims=True)
        return np.squeeze(top + np.log(total(np.exp(z - top))), -1)

    def online(z: Any) -> Any:
        top, below = z[0], z.dtype.type(1)
        for x in z[1:]:
            new = max(top, x)
            below = below * np.exp(top - new) + np.exp(x - new)
            top = new
        return np.exp(z - top) / below

    def jacobian_product(z: Any, g: Any) -> Any:
        s = softmax(z)
        return ((np.diag(s.astype(np.float64)).astype(s.dtype) - s[:, None] * s[None, :]) * g[:, None]).sum(0)

    return [
        ("shifted", "softmax.s", softmax),
        ("exp of log-softmax", "softmax.s", lambda z: np.exp(log_softmax(z))),
        ("online", "softmax.s", online),
        ("in float64", "softmax.s", lambda z: softmax(z.astype(np.float64)).astype(z.dtype)),
        ("s(g - <s,g>)", "softmax.vjp", backward(lambda s, g: s * (g - total(s * g)))),
        ("sg - s<s,g>", "softmax.vjp", backward(lambda s, g: s * g - s * total(s * g))),
        ("explicit Jacobian", "softmax.vjp", jacobian_product),
        ("diag - outer", "softmax.jacobian", lambda z: _jacobian(softmax(z))),
        ("log-softmax", "log_sum_exp.log_softmax", log_softmax),
        ("log-sum-exp", "log_sum_exp.lse", logsumexp),
        ("log-softmax backward", "log_sum_exp.log_softmax_vjp", logs(lambda s, g: g - s * total(g))),
        ("by exp(log_softmax)", "log_sum_exp.log_softmax_vjp", lambda z, g: g - np.exp(log_softmax(z)) * total(g)),
        ("lse gradient", "log_sum_exp.gradient", softmax),
        ("s - y", "cross_entropy.gradient", entropy(lambda s, y: s - y)),
        ("loss", "cross_entropy.loss", lambda z, y: -(y * log_softmax(z)).sum(-1)),
        ("batch", "cross_entropy.mean_over_a_batch", lambda X, target: _one_hot(X, target) / X.dtype.type(len(X))),
        ("dQ", "attention.dQ", attention("dQ")),
        ("dK", "attention.dK", attention("dK")),
        ("dV", "attention.dV", attention("dV")),
        ("layer norm", f"{path}:layer_norm_dx", layer_norm_dx),
        ("RMS norm", f"{path}:rms_norm_dx", rms_norm_dx),
    ]


def _jacobian(s: Any) -> Any:
    found = -s[:, None] * s[None, :]
    found[np.arange(len(s)), np.arange(len(s))] += s
    return found
