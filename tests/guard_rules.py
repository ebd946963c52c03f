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


def layer_norm_dx(
    x: Any, w: Any, g: Any, eps: Any, mean: bool = True, dot: bool = True, bessel: bool = False, weight: bool = True,
    scale: bool = True, guard: bool = True, sign: int = 1,
) -> Any:  # fmt: skip
    n = x.dtype.type(x.shape[-1])
    centred = x - total(x) / n
    v = total(centred * centred) / (n - 1 if bessel else n)
    r = 1 / np.sqrt(v + eps if guard else v)
    xhat, c = centred * r, (w * g if weight else g)
    found = c
    if mean:
        found = found - total(c) / n
    if dot:
        found = found - sign * xhat * (total(c * xhat) / n)
    return (found * r if scale else found).astype(x.dtype)


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
) -> Any:
    n = x.dtype.type(x.shape[-1])
    q = total(x * x) / n + eps
    rho, c = 1 / np.sqrt(q), (w * g if weight else g)
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
    ]


def attention(which: str, **options: Any) -> Kernel:
    """A backward pass of attention as it is written by hand, with one thing changed."""

    def kernel(Q: Any, K: Any, V: Any, dO: Any) -> Any:
        d = Q.dtype.type(Q.shape[-1])
        P = softmax(Q @ K.T * (1 if options.get("unscaled") else 1 / np.sqrt(d)))
        if which == "dV":
            return ((P if options.get("transposed") else P.T) @ dO).astype(Q.dtype)
        dP = dO @ V.T
        D = 0 if options.get("row") else total(dO * (P @ V))
        dS = (dP - D) if options.get("weights") else P * (dP + D if options.get("plus") else dP - D)
        scale = 1 if options.get("scale") else 1 / d if options.get("twice") else 1 / np.sqrt(d)
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
