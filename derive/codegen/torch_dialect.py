"""Code for PyTorch: on the device of the arguments; nothing is written in place, so autograd goes through it."""

from __future__ import annotations

from derive.codegen.dialect import FUNCTIONS, RESERVED, Dialect, Function
from derive.codegen.helpers import SNIPPETS

OWN = {
    "_dtype": '''
def _dtype(*arguments):
    """The common dtype of the tensors; Python numbers follow, integers become float64, others are a ValueError."""
    dtype = None
    for argument in filter(torch.is_tensor, arguments):
        if argument.is_complex():
            raise ValueError(f"a tensor of {argument.dtype}, expected real numbers")
        dtype = argument.dtype if dtype is None else torch.promote_types(dtype, argument.dtype)
    return dtype if dtype is not None and dtype.is_floating_point else torch.float64
''',
    "_check_index": '''
def _check_index(name, array, axis, size):
    """ValueError where the tensor does not hold indices of the axis."""
    integers = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
    if array.dtype not in integers or torch.any((array < 0) | (array >= size)):
        raise ValueError(f"axis {axis}: {name} must hold integers from 0 to {size - 1}")
''',
    "_pick": '''
def _pick(array, index):
    """array[..., index]: the last axis is indexed, the others broadcast against the index."""
    rank = max(array.ndim, index.ndim + 1)
    array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    index = index.reshape((1,) * (rank - 1 - index.ndim) + index.shape)
    return torch.take_along_dim(array, index[..., None].long(), dim=-1)[..., 0]
''',
    "_softplus": '''
def _softplus(x):
    """log(1 + exp(x)), which nothing cuts off."""
    return torch.logaddexp(x, torch.zeros_like(x))
''',
    # torch.polygamma(1, x) is off by 1e-9.
    "_trigamma": '''
def _trigamma(x):
    """The derivative of digamma above 0, in float64 within a few units of the last place."""
    y = x.to(torch.float64)
    w = y + 12
    rest = 0.0
    for coefficient in (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6, 0.0):
        rest = rest / (w * w) + coefficient
    steps = torch.arange(12, dtype=torch.float64, device=x.device)
    value = torch.sum(1 / (y[..., None] + steps) ** 2, dim=-1) + (1 + 0.5 / w + rest) / w
    return torch.where(y > 0, value, torch.nan).to(x.dtype)
''',
}
FLOAT = "np.tensor(float({0}), dtype=np.float64)"

TORCH = Dialect(
    "PyTorch",
    "torch",
    ("import math", "import torch"),
    RESERVED | {"math", "torch", "float", "max"},
    functions=FUNCTIONS
    | {
        "atan": Function("np.atan({0})"),
        "relu": Function("np.relu({0})"),
        "softplus": Function("_softplus({0})", "_softplus"),
        "sigmoid": Function("np.sigmoid({0})"),
        "erf": Function("np.erf({0})"),
        "lgamma": Function("np.lgamma({0})"),
        "digamma": Function("np.digamma({0})"),
        "trigamma": Function("_trigamma({0})", "_trigamma"),
    },
    snippets={k: SNIPPETS[k] for k in ("_size", "_at_least")} | OWN,
    reductions={
        "sum": "np.sum({0}, dim={1})",
        "prod": "np.prod({0}, dim={1})",
        "max": "np.amax({0}, dim={1})",
        "min": "np.amin({0}, dim={1})",
        "all": "np.all({0}, dim={1})",
        "any": "np.any({0}, dim={1})",
    },
    one_axis=frozenset({"prod"}),
    arange="np.arange({0}, device={device})",
    eye="np.eye({0}, dtype={dtype}, device={device})",
    cast="{0}.to({dtype})",
    zero_place="np.tensor(0, device={device})",
    diagonal="np.diagonal({0}, dim1={1}, dim2={2})",
    power="np.pow({0}, {1})",
    operand="np.tensor({0}, dtype={dtype}, device={device})",
    alone=FLOAT,
    divide=f"({FLOAT} / {{2}}).item()",
    float_power=f"({FLOAT} ** {{2}}).item()",
    truth="np.tensor({0}, device={device})",
    both_numbers="np.where({0}, np.tensor({1}, dtype={dtype}, device={device}), {2})",
    no_dtype="np.float64",
    array="np.as_tensor({0}, dtype={dtype})",
    places="np.as_tensor({0})",
    result="np.as_tensor({0}, dtype={dtype})",
    copied="np.as_tensor({0}, dtype={dtype}).clone()",
    spread="np.as_tensor({0}, dtype={dtype}, device={device}).expand({1}).clone()",
    root="math.sqrt({0})",
    quiet="",
    wide="",
    in_place=False,
)
