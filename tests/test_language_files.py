"""Files, imports, limits and hostile text: one clear error, or the theory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive.language import LanguageError, loads
from derive.language import load as load_theory
from derive.language.printer import to_text
from derive.language.source import MAX_BYTES, Source

REJECTED = Path(__file__).parent / "rejected_files"
X = "x: real\n"


def refusal(source: str | Path) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        load_theory(source)
    return caught.value


def error_of(text: str) -> LanguageError | None:
    """The error for the text, if it is refused."""
    try:
        loads(text)
    except LanguageError as error:
        return error
    return None


def refused(text: str) -> LanguageError:
    with pytest.raises(LanguageError) as caught:
        loads(text)
    return caught.value


@pytest.mark.parametrize("path", sorted(REJECTED.glob("*.derive")), ids=lambda path: path.stem)
def test_a_bad_file_is_refused_where_its_first_line_says(path):
    first = path.read_bytes().split(b"\n")[0].decode()
    line, column, message = re.fullmatch(r"# refused at (\d+):(\d+): (.*)", first).groups()
    error = refusal(path)

    assert (error.line, error.column) == (int(line), int(column))
    assert message in error.message
    assert str(error).startswith(f"{path}:{line}:{column}: ")
    assert not Path("executed").exists()


# -- what is no readable file -----------------------------------------------------------------------------------------


def test_a_missing_file_is_an_error_of_the_whole_file(tmp_path):
    error = refusal(tmp_path / "gone.derive")

    assert "no such file" in error.message
    assert (error.line, error.column) == (0, 0)


def test_an_unknown_name_suggests_a_theory():
    error = refusal("softmx")

    assert "no theory 'softmx'" in error.message
    assert "did you mean 'softmax'" in error.hint


def test_a_name_whose_ending_was_left_out_suggests_the_file(tmp_path, monkeypatch):
    (tmp_path / "mine.derive").write_text("x: real\ndef same():\n    assert x == x\n")
    monkeypatch.chdir(tmp_path)

    assert refusal("mine").hint == "did you mean 'mine.derive'?"
    assert refusal("mine.same").hint == "did you mean 'mine.derive.same'?"
    assert "did you mean" not in refusal("yours.same").hint


def test_a_folder_is_refused(tmp_path):
    assert "a folder" in refusal(tmp_path).message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.derive")
    begun = time.monotonic()

    assert "not a regular file" in refusal(tmp_path / "pipe.derive").message
    assert time.monotonic() - begun < 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_is_refused():
    assert "not a regular file" in refusal(Path("/dev/zero")).message


def test_a_path_with_a_null_is_refused():
    assert "cannot be read" in refusal("a\0b.derive").message


def test_the_position_of_a_bad_byte_is_counted_in_characters(tmp_path):
    path = tmp_path / "bytes.derive"
    path.write_bytes("x: real\n# θθ".encode() + b"\xff")
    error = refusal(path)

    assert (error.line, error.column) == (2, 5)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "marked.derive"
    path.write_bytes(b"\xef\xbb\xbf" + X.encode())

    assert load_theory(path).text == X


def test_a_file_is_named_by_its_path(tmp_path):
    path = tmp_path / "mine.derive"
    path.write_text(X + "assert x == x\n", encoding="utf-8")
    theory = load_theory(str(path))

    assert (theory.name, theory.path) == ("mine", path)


def test_nothing_is_printed_or_warned(capfd):
    assert loads('"""$\\sum$ and \\d."""\n').title

    assert capfd.readouterr() == ("", "")


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_file_of_a_mebibyte_is_read_and_a_larger_one_refused(tmp_path):
    path = tmp_path / "large.derive"
    path.write_bytes(X.encode() + b"#" * (MAX_BYTES - len(X)))
    assert load_theory(path).declarations

    path.write_bytes(X.encode() + b"#" * (MAX_BYTES - len(X) + 1))
    assert "larger than 1 MiB" in refusal(path).message


def test_a_text_larger_than_a_mebibyte_is_refused():
    assert "larger than 1 MiB" in refused("# " + "θ" * (MAX_BYTES // 2)).message


NESTED = {
    "parentheses": lambda n: "(" * n + "x" + ")" * n,
    "functions": lambda n: "exp(" * n + "x" + ")" * n,
    "subtraction": lambda n: "x - (" * n + "x" + ")" * n,
    "signs": lambda n: "-" * n + "x",
    "powers": lambda n: "**".join(["x"] * n),
    "quotients": lambda n: "/".join(["x"] * n),
    "subscripts": lambda n: "x" + "[0]" * n,
    "calls": lambda n: "x" + "()" * n,
    "brackets": lambda n: "[" * n + "x" + "]" * n,
    "conditions": lambda n: "where(" * n + "x > 0" + ", x, x) > 0" * (n - 1) + ", x, x)",
    "negations": lambda n: "where(" + "not " * n + "x > 0, x, x)",
    "sums": lambda n: (
        "".join(f"sum(z[k{i}] * " for i in range(n)) + "x" + "".join(f" for k{i} in n)" for i in reversed(range(n)))
    ),
    "filters": lambda n: "sum(x for k in n if " + "not " * n + "k == k)",
    "loops": lambda n: "sum(x" + "".join(f" for k{i} in n" for i in range(n)) + ")",
    "lambdas": lambda n: "lambda: " * n + "x",
    "conditionals": lambda n: "x if x else " * n + "x",
    "unclosed": lambda n: "exp(" * n + "x",
    "displays": lambda n: "{" * n + "x y" + "}" * n,
}


@pytest.mark.parametrize("shape", NESTED)
@pytest.mark.parametrize("depth", [250, 900, 3500, 40000])
def test_deep_nesting_is_an_error_and_never_a_crash(shape, depth):
    text = "n: axis\nz: real[n]\nx: real\ny = " + NESTED[shape](depth) + "\n"
    begun = time.monotonic()
    error = error_of(text)

    assert (error is None) == (shape == "loops" and depth < 40000)
    assert error is None or error.line == 4 or "larger than 1 MiB" in error.message
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("shape", ["functions", "signs", "powers", "quotients", "conditions", "sums"])
def test_nesting_within_the_limit_is_accepted_and_printed(shape):
    depth = 60 if shape in ("conditions", "sums") else 180
    theory = loads("n: axis\nz: real[n]\nx: real\ny = " + NESTED[shape](depth) + "\n")

    assert to_text(theory.definitions["y"].body)


def test_deep_nesting_says_the_limit():
    assert "nested more than 200 deep" in refused(X + "y = " + "exp(" * 201 + "x" + ")" * 201).message
    assert "nested more than 200 deep" in refused(X + "y = " + "-" * 201 + "x").message


def test_definitions_count_towards_the_nesting():
    lines = [X, "y0 = x\n", *(f"y{n} = exp({'-' * 20} y{n - 1})\n" for n in range(1, 120))]

    assert "2,000 deep, its definitions written out" in refused("".join(lines)).message


def test_definitions_count_towards_the_size():
    lines = [X, "y0 = x\n", *(f"y{n} = y{n - 1} * y{n - 1}\n" for n in range(1, 40))]
    error = refused("".join(lines))

    assert "more than 1,000,000 parts, its definitions written out" in error.message
    assert error.line < 25


def test_a_file_of_too_many_parts_is_refused():
    assert "more than 100,000 parts" in refused(X + "assert x == x\n" * 30_000).message


def test_a_long_chain_of_terms_is_accepted_or_refused_clearly():
    assert loads(X + "y = " + " + ".join(["x"] * 2500)).definitions["y"].body.op == "add"
    assert "a chain of thousands of terms" in refused(X + "\n\ny = " + " + ".join(["x"] * 50_000)).message
    assert refused(X + "\n\ny = " + " + ".join(["x"] * 50_000)).line == 4


def test_a_long_comparison_is_read_in_time():
    begun = time.monotonic()
    theory = loads(X + "assert " + " == ".join(["x"] * 3000))

    assert len(theory.theorems[0].claims) == 2999
    assert time.monotonic() - begun < 10


def test_many_declarations_are_read_in_time():
    begun = time.monotonic()
    loads("".join(f"x{n}: real\ny{n} = x{n}\n" for n in range(8000)))

    assert time.monotonic() - begun < 10


# -- hostile text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "character", "\x00\x07\x08\x0b\x0c\x1b\x7f\x85\u200b\u200e\u202a\u202e\u2066\u2069\u2028\ufeff"
)
@pytest.mark.parametrize("place", ["# {}", '"""Prose {}."""', 'x: real\nassert x == x, "caption {}"', "x{}: real"])
def test_characters_that_hide_or_reorder_text_are_refused(character, place):
    before, after = place.split("{}")
    error = refused(before + character + after + "\n")

    assert f"U+{ord(character):04X}" in error.message
    assert error.column == len(before.rpartition("\n")[2]) + 1
    assert character not in error.render()


def test_a_lone_surrogate_is_refused():
    assert "U+D800" in refused("# \ud800\n").message


def test_a_lone_carriage_return_is_refused():
    assert "U+000D" in refused("x: real\ry: real\n").message


def test_accents_and_emoji_are_welcome_in_prose():
    assert loads('"""Größe, naïve, 数学, 👩‍🔬."""\n').title == "Größe, naïve, 数学, 👩‍🔬."


def test_an_error_shows_no_control_character_of_its_path(tmp_path):
    path = tmp_path / "red\x1b[31m.derive"
    path.write_text("y = z\n", encoding="utf-8")

    assert "\x1b" not in refusal(path).render()
    assert "\x1b" not in str(refusal(path))


def test_a_caret_stands_under_wide_characters():
    lines = refused('"""数学""" + x\n').render().split("\n")

    assert lines[2] == "  " + "^" * 14


def test_a_caret_stands_behind_a_tab():
    lines = refused("def f():\n\tassert y == 1\n").render().split("\n")

    assert lines[1:3] == ["   assert y == 1", "          ^"]


def test_a_long_line_is_shown_around_the_place():
    lines = refused(X + "y = " + "x + " * 1000 + "wrong" + " + x" * 1000).render().split("\n")

    assert len(lines[1]) < 120
    assert lines[1][lines[2].index("^") :].startswith("wrong")


def test_a_name_of_absurd_length_does_not_fill_the_screen():
    error = refused("y = " + "x" * 100_000)

    assert len(error.render()) < 2500


def test_prose_of_other_languages_passes_through_unchanged():
    text = r'r"""\input{x} <script> {{ 7*7 }} [x](javascript:y) `$` ~~ %s"""'

    assert loads(text).title == r"\input{x} <script> {{ 7*7 }} [x](javascript:y) `$` ~~ %s"


# -- imports ----------------------------------------------------------------------------------------------------------


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.derive").write_text(text, encoding="utf-8")
    return folder / f"{list(texts)[-1]}.derive"


BASE = (
    "n: axis\nm: axis\nz: real[n]\nother: real[m]\ny: real[n]\nassume(sum(y[k] for k in n) == 1)\nassume(n >= 2)\n"
    "Z = sum(exp(z[k]) for k in n)\ns[i] = exp(z[i]) / Z\nloss = sum(y[k] * s[k] for k in n)\n"
    "def normalised():\n    assert sum(s[i] for i in n) == 1\n"
    "def about_y(v: real[n]):\n    assert sum(y[k] for k in n) * v[i] == v[i]\n"
)


def test_an_import_brings_what_the_name_rests_on_and_no_more(tmp_path):
    theory = load_theory(write(tmp_path, base=BASE, user="from base import s\nassert s[i] == exp(z[i]) / Z\n"))

    assert theory.axes == ("n",)
    assert set(theory.declarations) == {"z"}
    assert set(theory.definitions) == {"s", "Z"}
    assert [to_text(h) for h in theory.hypotheses] == ["n >= 2"]


def test_an_imported_theorem_may_be_named_and_brings_its_hypotheses(tmp_path):
    text = "from base import about_y\nassert sum(y[k] for k in n) == 1, by(about_y)\n"
    theory = load_theory(write(tmp_path, base=BASE, user=text))

    assert [to_text(h) for h in theory.hypotheses] == ["sum(y[k] for k in n) == 1", "n >= 2"]
    assert theory.theorems[0].claims[0].by == ("about_y",)
    assert theory.imports[0].theory["about_y"].name == "about_y"


def test_a_theorem_that_is_not_imported_cannot_be_named(tmp_path):
    text = "from base import s\nassert sum(s[i] for i in n) == 1, by(normalised)\n"

    assert "no theorem 'normalised'" in refusal(write(tmp_path, base=BASE, user=text)).message


def test_a_sibling_comes_before_the_catalogue(tmp_path):
    text = "from softmax import mine\nassert mine == mine\n"
    theory = load_theory(write(tmp_path, softmax="x: real\nmine = x\n", user=text))

    assert theory.imports[0].theory.path == tmp_path / "softmax.derive"


def test_a_text_imports_from_its_folder_and_the_catalogue(tmp_path):
    write(tmp_path, base=BASE)

    assert loads("from base import s\n", folder=tmp_path).definitions.keys() == {"Z", "s"}
    assert loads("from softmax import s, jacobian\n").imports[0].names == ("s", "jacobian")
    with pytest.raises(LanguageError, match="no theory 'base'"):
        loads("from base import s\n")


def test_the_same_name_by_two_ways_is_one(tmp_path):
    path = write(
        tmp_path,
        base=BASE,
        left="from base import s\na[i] = 2 * s[i]\n",
        right="from base import s\nb[i] = 3 * s[i]\n",
        user="from left import a\nfrom right import b\nassert 3 * a[i] == 2 * b[i]\n",
    )

    assert set(load_theory(path).definitions) == {"Z", "s", "a", "b"}


def test_two_definitions_of_one_name_are_refused(tmp_path):
    path = write(
        tmp_path,
        base=BASE,
        left="x: real\nZ = x\n",
        user="from base import s\nfrom left import Z\n",
    )
    error = refusal(path)

    assert "'Z' comes with this import, but is already the definition of an import" in error.message
    assert error.line == 2


@pytest.mark.parametrize(
    "text", ["n: axis\nfrom base import s\n", "from base import s\nZ = 1\n", "from base import s\nz: real\n"]
)
def test_what_comes_with_an_import_is_not_declared_again(tmp_path, text):
    assert re.search("'[nzZ]' comes with this import", refusal(write(tmp_path, base=BASE, user=text)).message)


def test_a_letter_may_not_be_an_imported_name(tmp_path):
    text = "from base import s\nf = sum(s[z] for z in n)\n"

    assert "'z' cannot be a letter" in refusal(write(tmp_path, base=BASE, user=text)).message


def test_a_random_name_brings_its_law_and_what_the_law_implies(tmp_path):
    base = "n: axis\np: real\nq: bernoulli(p)[n]\nS = sum(q[i] for i in n)\n"
    theory = load_theory(write(tmp_path, base=base, user="from base import S\nassert E(S) == n * p\n"))

    assert set(theory.declarations) == {"p", "q"}
    assert [to_text(h) for h in theory.hypotheses] == ["0 <= p <= 1"]
    assert (
        "rests on a random name"
        in refusal(write(tmp_path, base=base, user="from base import S\nassert S == n * p\n")).message
    )


def test_a_circle_of_imports_is_refused_with_its_ring(tmp_path):
    path = write(
        tmp_path,
        one="from two import b\na = b\n",
        two="from three import c\nb = c\n",
        three="from one import a\nc = a\n",
    )

    assert "three → one → two → three" in refusal(path).message


def test_a_long_row_of_imports_is_refused(tmp_path):
    texts = {
        "f0": "x: real\na0 = x\n",
        **{f"f{n}": f"from f{n - 1} import a{n - 1}\na{n} = a{n - 1}\n" for n in range(1, 80)},
    }

    assert "more than 50 files" in refusal(write(tmp_path, **texts)).message


def test_a_file_is_read_once_however_many_ways_lead_to_it(tmp_path):
    texts = {"f0": "x: real\na0 = x\nb0 = x\n"}
    for n in range(1, 25):
        texts[f"f{n}"] = (
            f"from f{n - 1} import a{n - 1}\nfrom f{n - 1} import b{n - 1}\na{n} = a{n - 1}\nb{n} = b{n - 1}\n"
        )
    begun = time.monotonic()

    assert load_theory(write(tmp_path, **texts)).definitions
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    "text", ["from .base import s", "from .. import s", "from base.s import x", "from base import *"]
)
def test_only_plain_imports_are_followed(tmp_path, text):
    assert refusal(write(tmp_path, base=BASE, user=text)).line == 1


# -- soup -------------------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    "n z x s i k Z 1 0.5 ( ) [ ] , : = == + - * / ** < sum for in if axis real index assume assert def f(): \n \n     "
    "E q rademacher exp( diff( at( delta( where( and not by( from softmax import z[k] s[i] \\ ' \" # λ".split(" ")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_WORDS, max_size=40).map(" ".join))
def test_no_text_makes_the_parser_crash(text):
    error = error_of("n: axis\nz: real[n]\nx: real\n" + text)

    assert error is None or (error.message and error.line >= 1 and error.render())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_no_characters_make_the_parser_crash(text):
    error = error_of(text)

    assert error is None or error.render()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_crash(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.derive"
    path.write_bytes(data)
    try:
        theory = load_theory(path)
    except LanguageError as error:
        theory, shown = None, error.render()

    assert theory or shown


def test_reading_a_theory_imports_nothing_heavy():
    code = (
        "import sys; from derive.language import load; load('cross_entropy');"
        "print(sorted({'sympy', 'numpy', 'flint', 'mpmath', 'jinja2', 'click'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


def test_catalogue_is_read_once_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from derive.language import catalogue, loader

    seen: list[str] = []

    def counted(path: Path) -> Source:
        seen.append(path.stem)
        return read(path)

    read = loader.read
    monkeypatch.setattr(loader, "read", counted)
    assert [t.name for t in loader.load_catalogue()] == list(catalogue())
    assert sorted(seen) == list(catalogue())
