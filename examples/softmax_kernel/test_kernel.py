"""The kernel against the verified formula: no tolerance to choose, no inputs to invent."""

import pytest
from kernel import softmax, softmax_backward, wrong_softmax_backward

from derive.testing import assert_implements

DTYPES = ["float64", "float32", "float16", "bfloat16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_forward(dtype):
    assert_implements(softmax, "softmax.s", dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_backward(dtype):
    assert_implements(softmax_backward, "softmax.vjp", dtype=dtype)


@pytest.mark.implements("softmax.vjp", dtype="float32")
def test_backward_by_marker(implements):
    implements(softmax_backward)


def test_the_first_draft_is_caught_and_its_mistake_named():
    with pytest.raises(AssertionError, match=r"the term -sum\(g\[i\]\*s\[i\] for i in n\) is missing"):
        assert_implements(wrong_softmax_backward, "softmax.vjp", dtype="float32")
