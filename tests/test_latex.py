"""What reports print can be read back as what was meant, in every notation and at every width."""

from __future__ import annotations

import pytest
from latex_reader import Reader, canonical
from random_terms import AXES, DEFINITIONS, FREE, VARIABLES, Terms

from derive.report.notation import Notation, names_in, notation
from derive.report.printer import ROWS, Printer
from derive.term import (
    ONE,
    TWO,
    Term,
    add,
    alike,
    cmp,
    defined,
    diff,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    over,
    power,
    size,
    sub,
    subterms,
    var,
)

II, J, K = index("i", "n"), index("j", "n"), index("k", "n")
Z_I, T = var("z", II), var("T")
KINDS = {**dict.fromkeys(VARIABLES, "var"), **dict.fromkeys(DEFINITIONS, "def"), **dict.fromkeys(AXES, "size")}


def noted(term: Term) -> tuple[Notation, dict[str, str]]:
    """The notation for a term among all names of the random terms, and the axes of its letters."""
    names, letters = names_in([term, *FREE])
    axes = {name: min(run) for name, run in letters.items()} | {k.value[0]: k.value[1] for k in FREE}
    return notation({*names, *KINDS}, letters), axes


def read_back(term: Term, room: float | None = None) -> Term:
    """The term printed, on one line or in the room, and read again."""
    names, axes = noted(term)
    printer = Printer(names)
    text = printer.inline(term) if room is None else printer.display(term, room=room)
    return Reader(names, KINDS, axes, VARIABLES).read(text)


def printed(term: Term, *others: str) -> str:
    names, letters = names_in([term])
    return Printer(notation({*names, *others}, letters)).inline(term)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("room", [None, 40.0, 22.0, 12.0])
def test_random_terms_are_read_back_as_printed(seed: int, room: float | None) -> None:
    source = Terms(seed)
    for _ in range(60):
        term = source.condition(2) if source.random.random() < 0.2 else source.term(source.random.choice([1, 2, 3, 4]))
        assert alike(canonical(read_back(term, room)), canonical(term)), term


def test_random_terms_reach_every_row_of_the_printer() -> None:
    source = Terms(1)
    seen = {part.op for _ in range(600) for part in subterms(source.condition(3))}
    assert set(ROWS) - seen <= {"list", "false"}


def test_reader_tells_terms_apart() -> None:
    """The reader would notice a dropped minus, a moved parenthesis or a changed index."""
    term = mul(Z_I, sub(ONE, Z_I))
    for other in (mul(Z_I, add(ONE, Z_I)), sub(Z_I, Z_I), mul(Z_I, sub(ONE, var("z", J)))):
        assert not alike(canonical(read_back(other)), canonical(term))


def test_operator_without_a_row_is_an_error() -> None:
    with pytest.raises(KeyError):
        printed(make("meta", (), "A"))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (diff(defined("s", II), var("z", J)), r"\frac{\partial s_{i}}{\partial z_{j}}"),
        (diff(div(fn("exp", Z_I), defined("Z")), var("z", J)), r"\frac{\partial}{\partial z_{j}} \frac{e^{z_{i}}}{Z}"),
        (mul(over("sum", var("z", K), K), T), r"\left( \sum_{k} z_{k} \right) T"),
        (mul(T, over("sum", var("z", K), K)), r"T \sum_{k} z_{k}"),
        (over("sum", var("z", K), K, where=cmp("!=", K, II)), r"\sum_{k \neq i} z_{k}"),
        (neg(mul(neg(T), Z_I)), r"-(-T z_{i})"),
        (power(neg(ONE), TWO), r"(-1)^{2}"),
        (fn("exp", div(Z_I, T)), r"e^{z_{i} / T}"),
        (mul(fn("exp", ONE), T), "e T"),
        (power(fn("exp", ONE), TWO), "(e)^{2}"),
        (div(num(-1), num(4)), r"-\frac{1}{4}"),
        (div(neg(ONE), num(4)), r"-\frac{1}{4}"),
        (div(neg(T), num(4)), r"\frac{-T}{4}"),
        (sub(T, div(num(1), num(4))), r"T - \frac{1}{4}"),
        (power(T, div(num(-1), TWO)), "T^{-1 / 2}"),
        (power(div(num(-1), T), TWO), r"\left( -\frac{1}{T} \right)^{2}"),
        (mul(num(2), num(3)), r"2 \cdot 3"),
        (num("0.1"), "0.1"),
        (num("1e-12"), "10^{-12}"),
        (mul(fn("log", Z_I), T), r"\left( \log z_{i} \right) T".replace(r"\left( ", "(").replace(r" \right)", ")")),
        (make("Var", (mul(T, Z_I),)), r"\mathrm{Var}[T z_{i}]"),
        (cmp("==", size("n"), ONE), "n = 1"),
        (mul(var("xhat", II), var("mu_bar")), r"\hat{x}_{i} \bar{\mu}"),
        (var("chat"), r"\mathrm{chat}"),
        (var("loss_hat"), r"\mathrm{loss\_hat}"),
    ],
)
def test_notation_is_a_textbooks(term: Term, expected: str) -> None:
    assert printed(term) == expected


def test_e_is_not_eulers_number_where_a_name_is_called_e() -> None:
    assert printed(fn("exp", Z_I)) == "e^{z_{i}}"
    assert printed(fn("exp", Z_I), "e") == r"\exp(z_{i})"


def test_sigma_is_not_the_sigmoid_where_a_name_is_called_sigma() -> None:
    assert printed(fn("sigmoid", T)) == r"\sigma(T)"
    assert printed(fn("sigmoid", T), "sigma") == r"\mathrm{sigmoid}(T)"


def test_letters_say_their_axis_only_where_they_run_over_several() -> None:
    one = over("sum", var("z", K), K)
    other = over("sum", var("y", index("k", "m")), index("k", "m"))
    assert printed(one) == r"\sum_{k} z_{k}"
    assert printed(mul(one, other)) == r"\left( \sum_{k \in [n]} z_{k} \right) \sum_{k \in [m]} y_{k}"


def test_no_two_names_look_alike() -> None:
    names = [
        "a",
        "alpha",
        "α",
        "a1",
        "a_1",
        "a__1",
        "A",
        "Α",
        "dA",
        "d",
        "δ",
        "delta_",
        "m4",
        "m",
        "log_x",
        "logx",
        "x_",
        "x",
        "xhat",
        "x_hat",
        "xbar",
    ]
    symbols = notation(names).symbols
    assert len({symbols[n].text() for n in names}) == len(names)
    assert (r"\delta", "") not in {(s.base, s.tag) for s in symbols.values()}


def test_names_cannot_carry_markup() -> None:
    for name in ["a_b_c", "x__", "ΩΣ", "ά"]:
        text = notation([name]).symbols[name].text()
        assert text.isascii()
        assert text.replace(r"\_", "").count("_") == text.count("_{")


def test_wide_formulas_are_broken_to_fit() -> None:
    long = add(*(mul(num(n), power(Z_I, num(n)), fn("tanh", add(T, num(n)))) for n in range(3, 30)))
    for term in (long, div(long, T), mul(T, long), fn("tanh", long), cmp("==", T, long), power(long, TWO)):
        names, _ = noted(term)
        printer = Printer(names)
        assert printer.width(term) > 100
        assert printer.box(term, 41.0).width <= 41.0
        assert alike(canonical(read_back(term, 41.0)), canonical(term))


def test_deep_terms_are_printed() -> None:
    term: Term = Z_I
    for _ in range(200):
        term = fn("tanh", add(term, ONE))
    assert printed(term).count("tanh") == 200
