"""What is measured: for each case the data and, by name, the candidates and the library that each needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import derive

Run = Callable[[], Any]
Make = Callable[..., Run]


@dataclass(frozen=True)
class Case:
    """`base` is the candidate that the ratios are to.

    `bars` are what the time of one candidate is to be at most, as a part of another's.
    """

    title: str
    base: str
    data: Callable[[], tuple[Any, ...]]
    candidates: dict[str, tuple[str | None, Make]]
    bars: dict[tuple[str, str], float] = field(default_factory=dict)


def normal(*shape: int, dtype: Any = np.float64, count: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal(shape).astype(dtype) for _ in range(count))


# -- softmax -----------------------------------------------------------------------------------------------------------


def softmax_derive(z: Any) -> Run:
    function, out = derive.load("softmax").function("s"), np.empty_like(z)
    return lambda: function(z, out=out)


def softmax_derive_shifted(z: Any) -> Run:
    function, out = derive.load("softmax").function("s", "shifted", wide=False), np.empty_like(z)
    return lambda: function(z, out=out)


def softmax_numpy(z: Any) -> Run:
    def run() -> Any:
        e = np.exp(z - z.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    return run


def softmax_scipy(z: Any) -> Run:
    from scipy.special import softmax

    return lambda: softmax(z, axis=-1)


def softmax_torch(z: Any) -> Run:
    import torch

    tensor = torch.from_numpy(z)
    return lambda: torch.softmax(tensor, -1)


def softmax_jax(z: Any) -> Run:
    import jax

    jax.config.update("jax_enable_x64", True)
    array, function = jax.numpy.asarray(z), jax.jit(lambda z: jax.nn.softmax(z, axis=-1))
    return lambda: function(array).block_until_ready()


SOFTMAX: dict[str, tuple[str | None, Make]] = {
    "NumPy by hand": (None, softmax_numpy),
    "derive": (None, softmax_derive),
    "derive, shifted, own dtype": (None, softmax_derive_shifted),
    "SciPy": ("scipy", softmax_scipy),
    "PyTorch": ("torch", softmax_torch),
    "JAX": ("jax", softmax_jax),
}

# -- softmax, reverse mode ---------------------------------------------------------------------------------------------


def vjp_derive(g: Any, z: Any) -> Run:
    function, out = derive.load("softmax").vjp("s", "z"), np.empty_like(z)
    return lambda: function(g, z, out=out)


def vjp_derive_own(g: Any, z: Any) -> Run:
    function, out = derive.load("softmax").vjp("s", "z", wide=False), np.empty_like(z)
    return lambda: function(g, z, out=out)


def vjp_derive_shifted(g: Any, z: Any) -> Run:
    function, out = derive.load("softmax").vjp("s", "z", "shifted", wide=False), np.empty_like(z)
    return lambda: function(g, z, out=out)


def vjp_numpy(g: Any, z: Any) -> Run:
    def run() -> Any:
        e = np.exp(z - z.max(-1, keepdims=True))
        s = e / e.sum(-1, keepdims=True)
        return s * (g - (s * g).sum(-1, keepdims=True))

    return run


def vjp_torch(g: Any, z: Any) -> Run:
    import torch

    leaf, cotangent = torch.from_numpy(z).requires_grad_(), torch.from_numpy(g)

    def run() -> Any:
        leaf.grad = None
        torch.softmax(leaf, -1).backward(cotangent)
        return leaf.grad

    return run


def vjp_jax(g: Any, z: Any) -> Run:
    import jax

    def pulled(z: Any, g: Any) -> Any:
        return jax.vjp(lambda x: jax.nn.softmax(x, axis=-1), z)[1](g)[0]

    function, scores, cotangent = jax.jit(pulled), jax.numpy.asarray(z), jax.numpy.asarray(g)
    return lambda: function(scores, cotangent).block_until_ready()


VJP: dict[str, tuple[str | None, Make]] = {
    "NumPy by hand": (None, vjp_numpy),
    "derive": (None, vjp_derive),
    "derive, own dtype": (None, vjp_derive_own),
    "derive, shifted, own dtype": (None, vjp_derive_shifted),
    "PyTorch": ("torch", vjp_torch),
    "JAX": ("jax", vjp_jax),
}

# -- attention, forward and backward -----------------------------------------------------------------------------------


def attention_products(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    """The six matrix products alone."""
    P = Q @ K.swapaxes(-1, -2)

    def run() -> None:
        Q @ K.swapaxes(-1, -2)
        P @ V
        dO @ V.swapaxes(-1, -2)
        P @ K
        P.swapaxes(-1, -2) @ Q
        P.swapaxes(-1, -2) @ dO

    return run


def attention_derive(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    function = derive.load("attention").function("O, dQ, dK, dV")
    out = tuple(np.empty_like(a) for a in (Q, Q, K, V))
    return lambda: function(Q, K, V, dO, out=out)


def attention_derive_wide(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    function = derive.load("attention").function("O, dQ, dK, dV", wide=True)
    out = tuple(np.empty_like(a) for a in (Q, Q, K, V))
    return lambda: function(Q, K, V, dO, out=out)


def attention_numpy(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    root = float(np.sqrt(Q.shape[-1]))

    def run() -> Any:
        S = Q @ K.swapaxes(-1, -2) / root
        P = np.exp(S - S.max(-1, keepdims=True))
        P /= P.sum(-1, keepdims=True)
        product = P @ V
        dS = P * (dO @ V.swapaxes(-1, -2) - (dO * product).sum(-1, keepdims=True))
        return product, dS @ K / root, dS.swapaxes(-1, -2) @ Q / root, P.swapaxes(-1, -2) @ dO

    return run


def attention_torch(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    import torch

    leaves = [torch.from_numpy(a).requires_grad_() for a in (Q, K, V)]
    cotangent = torch.from_numpy(dO)

    def run() -> Any:
        for leaf in leaves:
            leaf.grad = None
        torch.nn.functional.scaled_dot_product_attention(*leaves).backward(cotangent)
        return [leaf.grad for leaf in leaves]

    return run


def attention_jax(Q: Any, K: Any, V: Any, dO: Any) -> Run:
    import jax
    import jax.numpy as jnp

    def forward(Q: Any, K: Any, V: Any) -> Any:
        return jax.nn.softmax(Q @ K.swapaxes(-1, -2) / jnp.sqrt(1.0 * Q.shape[-1]), axis=-1) @ V

    def both(Q: Any, K: Any, V: Any, dO: Any) -> Any:
        product, back = jax.vjp(forward, Q, K, V)
        return product, *back(dO)

    function, given = jax.jit(both), [jnp.asarray(a) for a in (Q, K, V, dO)]
    return lambda: jax.block_until_ready(function(*given))


ATTENTION: dict[str, tuple[str | None, Make]] = {
    "the six matrix products": (None, attention_products),
    "derive": (None, attention_derive),
    "derive, wide": (None, attention_derive_wide),
    "NumPy by hand": (None, attention_numpy),
    "PyTorch": ("torch", attention_torch),
    "JAX": ("jax", attention_jax),
}

CASES: dict[str, Case] = {
    "softmax": Case(
        "Softmax, 1024 × 1000, float64",
        "NumPy by hand",
        lambda: normal(1024, 1000),
        SOFTMAX,
        {("derive", "NumPy by hand"): 1.5},
    ),
    "softmax32": Case(
        "Softmax, 32768 × 1000, float32", "NumPy by hand", lambda: normal(32768, 1000, dtype=np.float32), SOFTMAX
    ),
    "vjp": Case(
        "Softmax VJP, 32768 × 1000, float32",
        "PyTorch",
        lambda: normal(32768, 1000, dtype=np.float32, count=2),
        VJP,
        {("derive", "PyTorch"): 0.6},
    ),
    "attention": Case(
        "Attention, forward and backward, T = 256, d = 64, 8 heads, float32",
        "the six matrix products",
        lambda: normal(8, 256, 64, dtype=np.float32, count=4),
        ATTENTION,
        {("derive", "the six matrix products"): 1.4},
    ),
}
