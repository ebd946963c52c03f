"""MathML for browsers: nothing is lost that is seen or spoken, and nothing is kept that is neither."""

from __future__ import annotations

import pytest

from derive.report.mathml import lean

COLON = (
    '<mi>n</mi><mspace></mspace><mspace width="0.1em"></mspace><mo lspace="0em" rspace="0.2em"></mo>'
    '<mtext>\u2009\u2063</mtext><mo lspace="0em" rspace="0em">:</mo><mspace width="0.3em"></mspace><mi>x</mi>'
)
NOTHING = "<mrow></mrow>"  # what KaTeX sets an operator off with
PAIRS = (
    "<mtable class=pairs><mtr><mtd><mo>=</mo><mrow></mrow></mtd><mtd><mi>a</mi></mtd></mtr>"
    "<mtr><mtd></mtd><mtd><mi>b</mi></mtd></mtr></mtable>"
)


@pytest.mark.parametrize(("given", "expected"), [
    # Rows of one element, and that of the whole formula, group nothing.
    ("<mrow><mi>a</mi><mo>=</mo><mfrac><mrow><mn>1</mn></mrow><mrow><mi>b</mi><mi>c</mi></mrow></mfrac></mrow>",
     "<mi>a</mi><mo>=</mo><mfrac><mn>1</mn><mrow><mi>b</mi><mi>c</mi></mrow></mfrac>"),
    ('<mrow style="x"><mi>a</mi></mrow><mi>b</mi>', "<mrow style=x><mi>a</mi></mrow><mi>b</mi>"),
    # The LaTeX, which no page needs twice.
    ('<semantics><mrow><mi>a</mi></mrow><annotation encoding="application/x-tex">a</annotation></semantics>',
     "<mi>a</mi>"),
    # The letters of a name are one name; those of several are not.
    ("<msub><mrow>" + "".join(f'<mi mathvariant="normal">{c}</mi>' for c in "mask_u") + "</mrow><mi>i</mi></msub>",
     "<msub><mi>mask_u</mi><mi>i</mi></msub>"),
    ("<msqrt><mi>x</mi></msqrt><mfrac><mn>1</mn><mrow><mi>a</mi><mi>b</mi></mrow></mfrac>",
     "<msqrt><mi>x</mi></msqrt><mfrac><mn>1</mn><mrow><mi>a</mi><mi>b</mi></mrow></mfrac>"),
    # A letter alone is slanted unless that is denied; TeX's ∂ is slanted, other signs are as they are.
    ('<mi mathvariant="normal">d</mi><mi>x</mi>', "<mi mathvariant=normal>d</mi><mi>x</mi>"),
    ('<mi mathvariant="normal">∂</mi><mi mathvariant="normal">⊤</mi>', "<mi>∂</mi><mi>⊤</mi>"),
    # Alphabets are characters.
    ('<mi mathvariant="double-struck">E</mi><mi mathvariant="double-struck">R</mi>', "<mi>𝔼</mi><mi>ℝ</mi>"),
    ('<mn mathvariant="bold">1</mn><mi mathvariant="script">L</mi><mi mathvariant="bold">θ</mi>',
     "<mn>𝟏</mn><mi>ℒ</mi><mi>𝛉</mi>"),
    ('<mi mathvariant="bold">é</mi><mi>b</mi>', "<mi mathvariant=bold>é</mi><mi>b</mi>"),
    # What an operator does by itself.
    ('<mo fence="true">(</mo><mi>a</mi><mo separator="true">,</mo><mi>b</mi><mo fence="true">)</mo>',
     "<mo>(</mo><mi>a</mi><mo>,</mo><mi>b</mi><mo>)</mo>"),
    ('<mo stretchy="false">(</mo><mi>a</mi><mo stretchy="false">)</mo>',
     "<mo stretchy=false>(</mo><mi>a</mi><mo stretchy=false>)</mo>"),
    ('<mo fence="true">∣</mo><mi>a</mi><mo fence="true">∣</mo><mo>∣</mo>', "<mo>|</mo><mi>a</mi><mo>|</mo><mo>∣</mo>"),
    # Spaces beside a sign are its own; nothing is made of what has no width.
    (COLON, "<mi>n</mi><mo lspace=0.1em rspace=0.3em>:</mo><mi>x</mi>"),
    ('<mi>a</mi><mspace width="1em"></mspace><mi>b</mi>', "<mi>a</mi><mspace width=1em></mspace><mi>b</mi>"),
    # A function's name is set off from a letter, not from a bracket, whatever stands beside it.
    ("<mi>log</mi><mo>\u2061</mo><mi>x</mi>", "<mi>log</mi><mo rspace=0.1667em>\u2061</mo><mi>x</mi>"),
    ("<munder><mrow><mi>max</mi><mo>\u2061</mo></mrow><mi>i</mi></munder><mi>x</mi>",
     "<munder><mi>max</mi><mi>i</mi></munder><mo rspace=0.1667em>\u2061</mo><mi>x</mi>"),
    ("<mi>exp</mi><mo>\u2061</mo><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>",
     "<mi>exp</mi><mo>\u2061</mo><mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>"),
    # A sign between two operands, and before one.
    ("<mi>a</mi><mo>−</mo><mi>b</mi><mo>=</mo><mo>−</mo><mi>c</mi>",
     "<mi>a</mi><mo>−</mo><mi>b</mi><mo>=</mo><mo form=prefix>−</mo><mi>c</mi>"),
    ("<mo>(</mo><mo>−</mo><mi>a</mi><mo>)</mo><mo>+</mo><mi>b</mi>",
     "<mo>(</mo><mo form=prefix>−</mo><mi>a</mi><mo>)</mo><mo>+</mo><mi>b</mi>"),
    ('<mo fence="true">∣</mo><mo>−</mo><mi>a</mi><mo fence="true">∣</mo><mo>−</mo><mi>b</mi>',
     "<mo>|</mo><mo form=prefix>−</mo><mi>a</mi><mo>|</mo><mo>−</mo><mi>b</mi>"),
    # What is escaped stays so, and what is applied is said.
    ("<mi>a</mi><mo>&lt;</mo><mi>exp</mi><mo>\u2061</mo>", "<mi>a</mi><mo>&lt;</mo><mi>exp</mi><mo>\u2061</mo>"),
])  # fmt: skip
def test_formula_is_as_plain_as_it_can_be(given: str, expected: str) -> None:
    assert lean(f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{given}</math>') == (
        f"<math display=block>{expected}</math>"
    )


def table(columns: str, *rows: tuple[str, ...]) -> str:
    cell = '<mtd><mstyle scriptlevel="0" displaystyle="true">{}</mstyle></mtd>'
    inside = "".join(f"<mtr>{''.join(map(cell.format, row))}</mtr>" for row in rows)
    return f'<math><mtable rowspacing="0.25em" columnalign="{columns}" columnspacing="0em">{inside}</mtable></math>'


@pytest.mark.parametrize(("columns", "rows", "expected"), [
    ("right left", [("", f"<mrow>{NOTHING}<mi>a</mi></mrow>"), ("", f"<mrow>{NOTHING}<mo>+</mo><mi>b</mi></mrow>")],
     "<mtable><mtr><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mo form=infix>+</mo><mi>b</mi></mtd></mtr></mtable>"),
    ("right left", [(f"<mrow><mo>=</mo>{NOTHING}</mrow>", "<mi>a</mi>"), ("", "<mi>b</mi>")],
     PAIRS),
    ("left left", [("<mi>a</mi>", "<mtext>if b</mtext>")],
     "<mtable class=cases><mtr><mtd><mi>a</mi></mtd><mtd><mtext>if b</mtext></mtd></mtr></mtable>"),
    ("center center", [("<mi>a</mi>", "<mi>b</mi>")],
     "<mtable class=grid><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>"),
])  # fmt: skip
def test_table_is_told_by_its_class(columns: str, rows: list[tuple[str, ...]], expected: str) -> None:
    assert lean(table(columns, *rows)) == f"<math>{expected}</math>"
