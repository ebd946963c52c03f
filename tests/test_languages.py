"""Reports in two languages: the same words in both tables, none in templates or scripts, and prose by its author."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from conftest import Run
from messages import RAISED, SLOT, UNTOLD, exceptions
from messages import messages as said_in_source
from test_html import elements, parsed
from test_report import checked_text

from derive.coq.printer import WORDS as COQ_WORDS
from derive.coq.run import PARTS as COQ_PARTS
from derive.engine.verdict import ORDER, TheoryResult
from derive.evidence.inputs import FAMILIES
from derive.kernel.certificate import KINDS
from derive.kernel.check import SIDE_CONDITIONS
from derive.kernel.order import PROCEDURES as LINE_PROCEDURES
from derive.kernel.order import ROWS
from derive.kernel.rules import RULES
from derive.language import catalogue, load, loads
from derive.language.layout import theory_to_text
from derive.language.words import FUNCTIONS
from derive.paths import template_dir
from derive.report import escape, katex, pdf, plots, prose, words
from derive.report.document import Document, document
from derive.report.entry import entry
from derive.report.figures import _LAWS as DRAWN
from derive.report.figures import Curve, Figure, Panel
from derive.report.languages import LANGUAGES, file_name, language, messages, table
from derive.report.numbers import DTYPES, UNASKED, VARIANTS, Evidence
from derive.report.pdf import MissingTool
from derive.report.render import render, render_index

Derive = Callable[..., Run]
Checked = Callable[[str], TheoryResult]
PLACE = re.compile(r"\{\*?(\w+)\}")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
# Names that are the same in every language: of programs, types, units, people and books.
NAMES = set(
    """SymPy NumPy SciPy Coq derive ulp float64 float32 bfloat16 Spivak Calculus Leibniz Nova Methodus Graham
    Knuth Patashnik
    Concrete Mathematics Feller An Introduction to Probability Theory and Its Applications IX Boyd Vandenberghe Convex
    Optimization Hardy Littlewood Polya Inequalities du delta LaTeX tex assume
    softmax sparsemax hardmax ReLU JavaScript float bfloat argmax at""".split()
) | set(FUNCTIONS)


def entries(code: str) -> Iterator[tuple[str, list[str]]]:
    for section, texts in table(code).items():
        for name, text in texts.items():
            yield f"{section}.{name}", text if isinstance(text, list) else [text]


def test_all_languages_have_the_same_keys() -> None:
    keys = [key for key, _ in entries("en")]
    assert len(keys) > 200
    for code in LANGUAGES:
        assert [key for key, _ in entries(code)] == keys


def test_every_message_has_the_same_slots_in_all_languages() -> None:
    chinese = dict(entries("zh"))
    for key, texts in entries("en"):
        slots = {frozenset(PLACE.findall(text)) for text in (*texts, *chinese[key])}
        assert len(slots) == 1, key


def test_what_is_said_in_chinese_is_chinese() -> None:
    for key, texts in (*entries("zh"), *((key, [text]) for key, text in messages("zh").items())):
        for text in texts:
            plain = PLACE.sub("", text)
            assert CHINESE.search(text) or not re.search(r"[A-Za-z]{2}", plain) or set(words_in(plain)) <= NAMES, key
            assert not re.search(r"[\u4e00-\u9fff][,.;:!?]|[\u4e00-\u9fff]\(", text), f"{key}: western punctuation"


def words_in(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z0-9]+", text)


def test_forms_for_one_and_for_several() -> None:
    english, chinese = language("en"), language("zh")
    assert [english.count(n, "claim") for n in (0, 1, 2)] == ["0 claims", "1 claim", "2 claims"]
    assert [chinese.count(n, "claim") for n in (1, 2)] == ["1 条断言", "2 条断言"]
    assert english.listed(["a", "b", "c"]) == "a, b and c"
    assert chinese.listed(["a", "b", "c"]) == "a、b 和 c"


def test_what_fills_a_message_is_escaped() -> None:
    assert language("zh").say("claim.captioned", number=1, caption="<b>{n}") == "断言 1（&lt;b&gt;{n}）"


def test_a_message_without_its_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        language("en").say("claim.captioned", number=1)
    with pytest.raises(KeyError):
        language("en").say("claim.no_such_message")


def test_every_rule_has_a_chinese_name_and_explanation() -> None:
    chinese = language("zh")
    rules = {*RULES, *ROWS, *LINE_PROCEDURES, *words.PROCEDURES}
    names = {rule: chinese.told(words.rule_words(rule)) for rule in rules}
    assert not [rule for rule, name in names.items() if not CHINESE.search(name)]
    assert len(set(names.values())) == len({words.rule_words(rule) for rule in rules})  # mirrored rules share one
    for rule in rules:
        source = chinese.told(words.rule_source(rule))
        assert set(words_in(re.sub(r"d/du \w+\(u\)", "", source))) <= NAMES, rule


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("as written: at most 3 ulp, overflow on 2 of 9 families; shifted: at most 1 ulp",
         "按原式：至多 3 ulp，9 类输入中有 2 类溢出；先减最大值：至多 1 ulp"),
        ("Spivak, Calculus, chapter 10; d/du exp(u)", "Spivak，Calculus，第 10 章；d/du exp(u)"),
        ("float64, shifted", "float64，先减最大值"),
        ("bfloat16, shifted", "bfloat16，先减最大值"),
        ("1000, 10, 5", "1000, 10, 5"),
        ("nobody said this", "nobody said this"),
    ],
)  # fmt: skip
def test_what_the_program_says_is_put_into_chinese_part_by_part(english: str, chinese: str) -> None:
    assert language("zh").told(english) == chinese
    assert language("en").told(english) == english


# What is said by tables of the program, and what is put together from several of its texts.
TABLES = [
    *(row.citation for row in (*RULES.values(), *ROWS.values())),
    *(words.rule_words(rule) for rule in (*RULES, *ROWS, *LINE_PROCEDURES, *words.PROCEDURES)),
    *map(str, words.PROCEDURES.values()),
    *(why for _, why in SIDE_CONDITIONS.values()),
    *(family.name for family in FAMILIES),
    *VARIANTS.values(),
    *UNASKED,
    *COQ_PARTS.values(),
    *COQ_WORDS.values(),
    *KINDS,
    *DRAWN,
    *(verdict for verdict in ORDER if verdict != "proved"),
    "undefined",
    "limit",
    "const",
]
TOGETHER = [
    "under 0.01 ulp",
    "under 0.01 ulp, 1 of 3 reduced to 0, on inputs “masked”",
    "float32, digits kept",
    "bfloat16, digits kept",
    "as written: at most 3 ulp; shifted: at most 1 ulp, overflow on 2 of 9 families",
    "it would follow with assume(x > 0)",
    "no derivation was found: it would follow with assume(x > 0)",
    "there is no rule for the derivative of sign: diff(sign(x), x)",
    "step 3: exp_tangent says something else",
    "by exp_slope_bound",
    "chain_rule_exp gives something else",
    "beyond these sizes: where x is 0",
    "normal(0, 1)",
    "uniform(-1, 1)",
    "the right side (log of a number that is not above 0)",
]


def test_every_message_of_the_program_has_a_chinese_one() -> None:
    found = said_in_source()
    assert len({message.text for message in found}) > 250
    lacking = {m.text: m.place for m in found if not is_told(m.text)}
    assert not lacking, "derive/report/languages/messages.zh.toml has no row for these"
    assert not [text for text in (*TABLES, *TOGETHER) if not is_told(text)]
    assert not is_told("nobody said {}")


def is_told(text: str) -> bool:
    """Whether a message has a Chinese one without English words, whatever is put in."""
    own = language("zh").told(text.replace(SLOT, "0"))
    plain = re.sub(r"d/du \w+\(u\)|assume\(.*?\)|diff\(.*\)|coq/Derive\.v", "", own)
    left = set(words_in(plain)) - NAMES
    return not left and bool(CHINESE.search(own) or set(words_in(own)) <= NAMES)


def test_no_message_is_translated_that_the_program_does_not_say() -> None:
    said = [*(message.text for message in said_in_source()), *TABLES, *TOGETHER]
    for english in messages("zh"):
        pattern = re.compile(".+".join(map(re.escape, re.split(r"\{\*?\w+\}", english))), re.DOTALL)
        assert any(pattern.search(text) for text in said), f"nothing in the program says {english!r}"


def test_every_exception_with_a_text_is_known_to_be_told_or_not() -> None:
    for where, raised in exceptions().items():
        assert raised <= {*RAISED[where], *UNTOLD[where]}, where


def test_a_message_has_the_same_places_in_all_languages() -> None:
    for english, own in messages("zh").items():
        assert sorted(re.findall(r"\{.*?\}", english)) == sorted(re.findall(r"\{.*?\}", own)), english


def test_names_in_messages_are_not_translated() -> None:
    chinese = language("zh")
    assert chinese.told("theorem independence") == "定理 independence"
    assert chinese.told("ties is declared positive") == "ties 声明为正数"
    assert chinese.told("rests on moment, small, which is not proved") == "依赖于尚未证明的 moment, small"
    assert chinese.told("moment of a thing: x") == "moment of a thing: x"


def test_long_text_that_is_no_message_is_given_up_soon() -> None:
    text = "between 1 and 2 at n; overflow on 3 of , " * 3000
    start = time.process_time()
    assert language("zh").told(text) == text
    assert time.process_time() - start < 2


def test_values_that_a_random_name_takes_are_told_each_by_itself() -> None:
    text = '"""T."""\n\nn: axis\nq: random(mean=0, variance=1)[n]\n\nassert Var(q[i] + q[j]) == 2\n'
    chinese = render(document(checked_text(text), language="zh"), "md")
    assert "probability" not in chinese
    assert re.search(r"= \\\[-?[\d/]+（概率 [\d/]+）, ", chinese), chinese


def test_no_word_is_left_in_templates_and_scripts() -> None:
    for path in sorted(template_dir().glob("*.j2")):
        text = path.read_text(encoding="utf-8")
        assert not list(fixed_words(text, path.name)), path.name
    for path in sorted(template_dir().glob("*.js")):
        code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        shown = re.findall(r"(?:textContent|innerText|title|label)\s*=\s*[\"`']([^\"`']*)", code)
        assert not [text for text in shown if re.search("[A-Za-z]", text)], path.name


def fixed_words(text: str, name: str) -> Iterator[str]:
    """The words that a template would print in any language."""
    if name.endswith(".tex.j2"):
        text = re.sub(r"\\(BLOCK|VAR)\{", "\0", text)
        text = re.sub(r"(?s)^.*?\\begin\{document\}", "", text) if r"\begin{document}" in text else text
        text = balanced(text)
        text = re.sub(r"\\(begin|end)\{\w+\*?\}|\\[A-Za-z]+\*?|\{UTF8\}\{gbsn\}|@\{\}|P\{[\d.]*", "", text)
    else:
        for literal in re.findall(r"\{[{%].*?[}%]\}", text, re.DOTALL):
            yield from (found for found in re.findall(r'"([^"]*)"', literal) if re.search("[A-Za-z]+ [A-Za-z]", found))
        text = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", text)
        if name.endswith(".typ.j2"):
            text = re.sub(r"(?s)^.*?\n#let proof.*?\n\n|//[^\n]*", "", text)  # the functions at its top
            text = re.sub(
                r"#[\w.]+|table\.\w+|(?<![A-Za-z])(columns|level|center|text|size|pt|weight|\"bold\"|fr):?(?=\W)",
                "",
                text,
            )
        yield from re.findall(r'(?:aria-label|title|placeholder|alt)="[A-Za-z][^"]*"', text)
        text = re.sub(r"(?s)<[^>]*>|</?\w+>", "", text)
        text = re.sub(r"(?m)^```mermaid\ngraph LR$", "", text)  # how a drawing begins
    yield from re.findall(r"[A-Za-z]{2,}", text)


def balanced(text: str) -> str:
    """Text without what stands between a zero byte and the brace that closes it."""
    kept, place = [], 0
    while place < len(text):
        if text[place] == "\0":
            depth, place = 1, place + 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[place], 0)
                place += 1
        else:
            kept.append(text[place])
            place += 1
    return "".join(kept)


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("a.md.j2", "# Statement {{ item }}"),
        ("a.html.j2", '<p aria-label="Theorems">{{ item }}</p>'),
        ("a.html.j2", '<p>{{ "two words" if item }}</p>'),
        ("a.typ.j2", "#strong[Statement] {{ item }}"),
        ("a.tex.j2", r"\section*{Statement} \VAR{t(x, {})}"),
    ],
)
def test_a_word_left_in_a_template_is_found(name: str, template: str) -> None:
    assert list(fixed_words(template, name))


MIXED = '''"""Two lines.

What it is about.

[zh] 两行。

讲的是什么：$x^2$。
"""

x: real
T: positive


def square():
    """The slope of a square.
    [zh] 平方的斜率。
    """
    assert diff(x**2, x) == 2 * x, "the slope [zh] 斜率"
    assert diff(1 / T, T) == -1 / T**2


def wrong():
    """Not so."""
    assert diff(x**2, x) == x


def undefined():
    assert tan(x) == tan(x) + 0 * lgamma(x)


def open_question():
    assert cosh(x) >= 1 + x**2 / 2 + x**4 / 24
'''


def shown(code: str) -> Document:
    return document(checked_text(MIXED), language=code)


def test_prose_is_shown_in_the_language_it_is_written_in() -> None:
    english, chinese = render(shown("en"), "md"), render(shown("zh"), "md")
    for text in ("Two lines", "What it is about.", "The slope of a square.", "the slope"):
        assert text in english and text not in chinese
    for text in ("两行", "讲的是什么：$`x^{2}`$。", "平方的斜率。", "斜率"):
        assert text in chinese and text not in english
    assert "Not so." in english and "Not so." in chinese, "what is not translated stands as it is"
    assert "[zh]" not in english + chinese and r"\[zh" not in english + chinese


def test_terminal_and_data_show_no_translation(derive: Derive, tmp_path: Path) -> None:
    file = tmp_path / "mixed.derive"
    file.write_text(MIXED, encoding="utf-8")
    for arguments in (("check", str(file)), ("show", str(file)), ("check", str(file), "--json")):
        run = derive(*arguments)
        assert "Two lines" in run.out or "diff(x**2, x)" in run.out
        assert not CHINESE.search(run.out)


def test_translations_are_written_back_into_the_file() -> None:
    theory = loads(MIXED)
    again = loads(theory_to_text(theory))
    assert theory.translations == again.translations == {"zh": ("两行。", "讲的是什么：$x^2$。")}
    assert [t.translations for t in again.theorems] == [{"zh": "平方的斜率。"}, {}, {}, {}]
    assert again["square"].claims[0].translations == {"zh": "斜率"}


@pytest.mark.parametrize("text", ["[zh] 只有中文。", "An index [zh] in a line of prose."])
def test_part_begins_a_line(text: str) -> None:
    theory = loads(f'"""{text}"""\n\nassert 1 == 1\n')
    assert theory.title == ("" if text.startswith("[") else text)
    assert bool(theory.translations) == text.startswith("[")


def test_chinese_prose_gets_no_blanks_where_its_lines_break() -> None:
    assert prose.markdown("第一行\n第二行，\n$x$ 在\nB 行") == "第一行第二行，$`x`$ 在 B 行"


@pytest.mark.parametrize("name", catalogue())
def test_catalogue_is_said_in_chinese_too(name: str) -> None:
    """Titles, prose, docstrings and captions, with the same formulas."""
    theory = load(name)
    said = [(f"{theory.title} {theory.prose}", " ".join(theory.translations["zh"]))]
    said += [(t.doc, t.translations.get("zh", "")) for t in theory.theorems]
    said += [(c.caption, c.translations.get("zh", "")) for t in theory.theorems for c in t.claims if c.caption]
    for text, chinese in said:
        assert CHINESE.search(chinese) or text.strip(". ") == chinese, text
        assert sorted(re.findall(r"\$[^$]*\$", text)) == sorted(re.findall(r"\$[^$]*\$", chinese)), text
        assert set(re.findall(r"\d+\.\d+", chinese)) == set(re.findall(r"\d+\.\d+", text)), text


def without_prose(made: Document) -> Document:
    theorems = tuple(
        replace(t, doc="", claims=tuple(replace(c, caption=None) for c in t.claims)) for t in made.theorems
    )
    return replace(made, title="", prose="", theorems=theorems)


@pytest.mark.parametrize("name", ["saturation", "dot_product", "normalisers", None])
def test_nothing_but_names_is_english_in_a_chinese_report(name: str | None, checked: Checked) -> None:
    result = checked(name) if name else checked_text(MIXED)
    text = render(without_prose(document(result, language="zh")), "md")
    text = re.sub(r"(?ms)^```.*?^```$|\$`.*?`\$|(`+).*?\1", "", text)
    assert "定理" in text and "内核" in text
    assert set(words_in(text)) - NAMES <= {result.theory.name}


@pytest.mark.parametrize("form", ["md", "html", "typ", "tex"])
def test_figures_are_described_in_chinese_punctuation(form: str) -> None:
    curve = Curve("x", (0.0, 1.0), (0.0, 1.0))
    drawn = Figure(
        "a", "curves", "Title", (("zh", "题目"),), "x", "y", "linear", "linear", (Panel("", (curve,)),), (),
        "generated code of s", "x has no finite value", ("x", "y"), (("0", "none"),),
    )  # fmt: skip
    page = render(replace(shown("zh"), evidence=Evidence(figures=(drawn,))), form)
    page = page.replace('";#"', "") if form == "typ" else page  # its pieces of text, put together
    assert "题目。" in page and "s 的生成代码。" in page, (
        "a name at the beginning keeps its letter, the stop is Chinese"
    )
    if form != "tex" and plots.can_draw():
        assert "题目：x 没有有限值" in page
    if form in ("md", "html"):
        assert "无" in page and "none<" not in page and "| none" not in page


def test_verdicts_are_told_apart_in_chinese() -> None:
    text = render(shown("zh"), "md")
    assert "✔ 1 条定理已证明" in text
    assert "✘ 2 条定理已否定" in text and "反例：" in text and "在该处无定义：右边（lgamma 在极点处）" in text
    assert "≈ 1 条定理已检验" in text or "? 1 条定理未判定" in text
    assert len({str(language("zh").say(f"verdict.{v}")) for v in words.MARKS}) == 4


def test_page_names_its_language() -> None:
    for code, tag in (("en", "en"), ("zh", "zh-Hans")):
        page = parsed(render(shown(code), "html"))
        assert page.get("lang") == tag
        (title,) = elements(page, "title")
        assert title.text == ("Two lines" if code == "en" else "两行")


def test_chinese_reports_stand_beside_the_english_ones(derive: Derive, elsewhere: Path) -> None:
    (elsewhere / "mixed.derive").write_text(MIXED, encoding="utf-8")
    for code in LANGUAGES:
        assert derive("report", "mixed.derive", "--format", "md", "--lang", code).status == 1
    assert "--lang zh" in (elsewhere / "reports" / "mixed.zh.md").read_text(encoding="utf-8")
    assert "--lang" not in (elsewhere / "reports" / "mixed.md").read_text(encoding="utf-8")


def test_unknown_language_is_a_usage_error(derive: Derive) -> None:
    run = derive("report", "softmax", "--lang", "tlh")
    assert run.status == 2 and "tlh; choose of en, zh" in run.err
    assert derive("report", "softmax", "--lang", ",").status == 2


# -- LaTeX ------------------------------------------------------------------------------------------------------------


def test_latex_asks_for_chinese_type_where_there_is_chinese_only() -> None:
    assert "CJKutf8" not in render(shown("en"), "tex")
    chinese = render(shown("zh"), "tex")
    assert chinese.count("CJKutf8") == 1 and r"\begin{CJK}{UTF8}{gbsn}" in chinese
    own = replace(shown("en"), prose="引言 and 𠀀")
    assert "引言" in render(own, "tex") and "[U+20000]" in render(own, "tex"), "what the font lacks is named"


def test_pdf_without_chinese_type_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_found", lambda *names: False)
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(MissingTool, match="latex-cjk-chinese"):
        pdf.pdf({"tex": r"\usepackage{CJKutf8}"}.__getitem__)


@pytest.mark.slow
def test_chinese_pdf_compiles(tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None or not pdf._found("CJKutf8.sty", "gbsnu4e.tfm"):
        pytest.skip("pdflatex or its Chinese type is not installed")
    made = tmp_path / "made.pdf"
    made.write_bytes(pdf.by_pdflatex(render(shown("zh"), "tex")))
    if program := shutil.which("pdftotext"):
        text = subprocess.run([program, str(made), "-"], capture_output=True, text=True, check=True).stdout
        assert "条定理已证明" in re.sub(r"\s", "", text) and "反例" in text


def test_words_within_formulas_are_chinese_too() -> None:
    text = '"""T."""\n\nx: real\ny: real\n\nassert where(x > y, x, y) == max(x, y)\n'
    chinese = render(document(checked_text(text), language="zh"), "md")
    assert r"\text{若 }" in chinese and r"\text{其他}" in chinese
    assert "otherwise" not in chinese and r"\text{if " not in chinese
    assert r"\text{otherwise}" in render(document(checked_text(text)), "md")
    assert katex.rendered([(r"\begin{cases} x & \text{若 } x > y \\ y & \text{其他} \end{cases}", True)])


def test_chinese_line_may_break_after_a_stop_before_what_is_not_chinese() -> None:
    assert escape.tex("其中，SciPy：") == r"其中，\allowbreak{}SciPy：\allowbreak{}"
    assert "allowbreak" not in escape.tex("（其中，中文")


@pytest.mark.parametrize("form", ["md", "html"])
def test_report_links_to_the_same_report_in_the_other_languages_of_the_run(form: str) -> None:
    result = checked_text('"""One."""\nx: real\ndef one():\n    assert x + x == 2*x\n')
    for code, other, name, tag in (("en", "zh", "中文", "zh-Hans"), ("zh", "en", "English", "en")):
        made = document(result, language=code)
        place = file_name(made.name, form, other)
        index = file_name("index", form, other)
        texts = render(made, form, beside=(other,)), render_index((entry(made),), form, code, beside=(other,))
        for text, address in zip(texts, (place, index), strict=True):
            if form == "md":
                assert f"\n\n[{name}]({address})\n\n" in text
                continue
            links = [e for e in elements(parsed(text), "a") if e.get("hreflang")]
            told = [(e.get("href"), e.get("hreflang"), e.get("lang"), e.text) for e in links]
            assert told == [(address, tag, tag, name)]
        alone = render(made, form)
        assert place not in alone and name not in alone


def test_reports_in_both_languages_are_written_in_one_run(derive: Derive, elsewhere: Path) -> None:
    (elsewhere / "mine.derive").write_text('"""One."""\nx: real\ndef one():\n    assert x + x == 2*x\n')
    assert derive("report", "mine.derive", "--lang", "en,zh", "--format", "md").status == 0
    assert sorted(p.name for p in (elsewhere / "reports").iterdir()) == ["mine.md", "mine.zh.md"]
    text = (elsewhere / "reports" / "mine.md").read_text(encoding="utf-8")
    assert "[中文](mine.zh.md)" in text and "`derive report mine.derive --lang en,zh`" in text
    assert derive("report", "mine.derive", "--format", "md").status == 0  # kept reports are of another run
    assert "mine.zh.md" not in (elsewhere / "reports" / "mine.md").read_text(encoding="utf-8")


def test_every_dtype_and_form_heads_a_column_in_chinese() -> None:
    for dtype, variant in product(DTYPES, VARIANTS.values()):
        assert language("zh").told(f"{dtype}, {variant}") == f"{dtype}，{language('zh').told(variant)}"


def test_characters_that_printed_reports_lack_are_told(derive: Derive, elsewhere: Path) -> None:
    text = '"""One.\n\nOf 漢 and 汉, α and ≤.\n"""\nx: real\ndef one():\n    assert x + x == 2*x\n'
    (elsewhere / "mine.derive").write_text(text, encoding="utf-8")
    for form in ("tex", "md,tex"):
        assert "mine: the fonts of LaTeX lack 漢 (U+6F22); " in derive("report", "mine.derive", "--format", form).err
    assert "[U+6F22]" in (elsewhere / "reports" / "mine.tex").read_text(encoding="utf-8")
    assert "U+" not in derive("report", "mine.derive", "--format", "md,html").err
