"""A checked theory as a document: plain data for templates, in reading order, without any markup.

Formulas are terms, prose is the author's text, words are words; each format writes them its own way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from derive.coq import record
from derive.coq.names import theorem as coq_lemma
from derive.engine.certify import certificate_of, claim_data
from derive.engine.reasons import sign_parts
from derive.engine.verdict import ORDER, ClaimResult, TheoremResult, TheoryResult
from derive.kernel.check import Ground
from derive.kernel.context import Context, Declaration, Definition
from derive.kernel.proof import Condition, Proof
from derive.language import catalogue
from derive.language.loader import CATALOGUE
from derive.language.theory import Theory
from derive.report import counterexample, words
from derive.report.conditions import as_meant, telling
from derive.report.lines import LineView, line_terms, line_views
from derive.report.notation import Notation, names_in, notation
from derive.report.numbers import Again, Evidence
from derive.report.steps import StepView, step_terms, step_views
from derive.term import Term, defined, var


@dataclass(frozen=True)
class ClaimView:
    number: int
    letters: tuple[Term, ...]  # the free ones, for all values of which it is claimed
    statement: Term
    source: str
    caption: str | None
    verdict: str
    reason: str | None
    start: Term | None  # the left side, from which the steps go
    steps: tuple[StepView, ...]
    lines: tuple[LineView, ...]  # the comparisons by which an order follows
    closing: str | None  # how the last line gives the claim, where that is not by being its right side
    signs: tuple[Condition, ...]  # of parts of left - right, where these alone give the claim
    example: bool  # about explicit numbers, with which it was evaluated
    domain: tuple[Term, ...]
    obligations: tuple[Condition, ...]
    hypotheses: tuple[Term, ...]
    counterexample: counterexample.Counterexample | None
    again: Again | None  # SymPy's opinion
    coq: record.Said | None = None  # what a recorded run of Coq says of it


@dataclass(frozen=True)
class TheoremView:
    number: int
    name: str
    line: int
    doc: str
    verdict: str
    variables: tuple[Declaration, ...]
    letters: tuple[Term, ...]
    hypotheses: tuple[tuple[int, Term], ...]  # with their numbers among all that the theorem stands on
    definitions: tuple[Definition, ...]
    claims: tuple[ClaimView, ...]
    domain: tuple[Term, ...]  # of all its claims
    unused: tuple[Term, ...]
    warnings: tuple[str, ...]
    rests_on: tuple[str, ...]


@dataclass(frozen=True)
class RuleCount:
    words: str
    count: int
    source: str


@dataclass(frozen=True)
class Account:
    """What all proofs of a document rest on, taken together."""

    rules: tuple[RuleCount, ...]
    identities: tuple[RuleCount, ...]
    steps: int  # comparisons on the way to an order are steps too


@dataclass(frozen=True)
class Document:
    name: str
    source: str  # what to call it by on the command line
    title: str
    prose: str
    verdict: str
    counts: tuple[tuple[str, int], ...]  # theorems by verdict
    claims: int
    axes: tuple[str, ...]
    letters: tuple[tuple[str, tuple[str, ...]], ...]  # axis and the letters that run over it
    declarations: tuple[Declaration, ...]
    fixed: tuple[Term, ...]  # declared indices
    definitions: tuple[Definition, ...]
    hypotheses: tuple[tuple[int, Term], ...]
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    theorems: tuple[TheoremView, ...]
    account: Account
    evidence: Evidence
    certificate: str | None = None  # the digest of the certificate of what is proved
    language: str = "en"
    listed: bool = False  # whether it is a theory of the catalogue, not one that is called like one
    notation: Notation = field(compare=False, default_factory=Notation)


def document(result: TheoryResult, evidence: Evidence | None = None, language: str = "en") -> Document:
    """The document of a checked theory in one language, with the evidence that was gathered.

    What the author says is in that language where the theory has it so, else as it stands there first.
    """
    theory, evidence = result.theory, evidence or Evidence()
    theorems = tuple(
        _theorem(theory, number, part, evidence, language) for number, part in enumerate(result.theorems, 1)
    )
    alone = Context(declarations=theory.declarations, letters=frozenset(theory.letters))
    title, prose = theory.translations.get(language, (theory.title, theory.prose))
    counts = Counter(t.verdict for t in theorems)
    draft = Document(
        name=theory.name,
        source=source_of(theory),
        title=title.removesuffix(".").removesuffix("。") or theory.name,
        prose=prose,
        verdict=min((t.verdict for t in theorems), key=ORDER.index, default="undecided"),
        counts=tuple((v, counts[v]) for v in reversed(ORDER) if counts[v]),
        claims=sum(len(t.claims) for t in theorems),
        axes=theory.axes,
        letters=(),
        declarations=tuple(theory.declarations.values()),
        fixed=theory.letters,
        definitions=tuple(theory.definitions.values()),
        hypotheses=tuple(enumerate((as_meant(h, alone) for h in theory.hypotheses), 1)),
        imports=tuple((i.source, i.names) for i in theory.imports),
        theorems=theorems,
        account=_account(result),
        evidence=evidence,
        certificate=certificate_of(result)["digest"] if counts["proved"] else None,
        language=language,
        listed=theory.path is not None and theory.path.parent == CATALOGUE,
    )
    return _with_notation(draft)


def source_of(theory: Theory) -> str:
    """What to call the theory by on the command line."""
    return theory.name if theory.path is None or theory.name in catalogue() else theory.path.name


def _with_notation(draft: Document) -> Document:
    names, letters = names_in(formulas(draft))
    names |= {*draft.axes, *(d.name for d in _declarations(draft))}
    symbols = notation(names, letters)
    shown = {symbols.renamed.get(k, k): over for k, over in letters.items()}
    by_axis = {axis: tuple(sorted(k for k, over in shown.items() if axis in over)) for axis in draft.axes}
    return replace(draft, letters=tuple((axis, run) for axis, run in by_axis.items() if run), notation=symbols)


def _declarations(document: Document) -> Iterable[Declaration]:
    yield from document.declarations
    for theorem in document.theorems:
        yield from theorem.variables


def formulas(document: Document) -> Iterable[Term]:
    """Every term that the document prints."""
    for declaration in _declarations(document):
        yield from law_terms(declaration)
    yield from document.fixed
    for definition in (*document.definitions, *(d for t in document.theorems for d in t.definitions)):
        yield defined(definition.name, *definition.letters)
        yield definition.body
    yield from (h for _, h in document.hypotheses)
    for theorem in document.theorems:
        yield from theorem.letters
        yield from (h for _, h in theorem.hypotheses)
        for claim in theorem.claims:
            yield from _claim_formulas(claim)


def _claim_formulas(claim: ClaimView) -> Iterable[Term]:
    yield claim.statement
    for step in claim.steps:
        yield from step_terms(step)
    for line in claim.lines:
        yield from line_terms(line)
    yield from claim.domain
    yield from (c.condition for c in (*claim.signs, *claim.obligations))
    for side in claim.counterexample.sides if claim.counterexample else ():
        yield from (t for t in (side.term, side.filled) if t is not None)


def law_terms(declaration: Declaration) -> tuple[Term, ...]:
    """The entry that a declaration declares and the parameters of its law."""
    entry = var(declaration.name, *declaration.letters)
    return (entry, *declaration.law.parameters) if declaration.law else (entry,) if declaration.letters else ()


def _theorem(theory: Theory, number: int, result: TheoremResult, evidence: Evidence, language: str) -> TheoremView:
    theorem = result.theorem
    context = theory.context(theorem)
    first = len(theory.hypotheses) + 1
    fixed = frozenset((*theory.letters, *theorem.letters))
    rests_on = {name for c in result.claims for name in c.claim.by}
    rests_on |= {name for c in result.claims if c.account for name in c.lemmas}
    own = {theorem.name} | {name for name in rests_on if not name.isidentifier()}  # its own earlier claims
    return TheoremView(
        number=number,
        name=theorem.name,
        line=theorem.line,
        doc=theorem.translations.get(language, theorem.doc),
        verdict=result.verdict,
        variables=theorem.declarations,
        letters=theorem.letters,
        hypotheses=tuple(enumerate((as_meant(h, context) for h in theorem.hypotheses), first)),
        definitions=theorem.definitions,
        claims=tuple(
            _claim(
                number,
                claim,
                context,
                fixed,
                evidence.agreement.get((theorem.name, number - 1)),
                language,
                (theory.name, coq_lemma(theorem.name, number)),
            )
            for number, claim in enumerate(result.claims, 1)
        ),
        domain=tuple(dict.fromkeys(d for c in result.claims if c.account for d in c.account.domain)),
        unused=tuple(as_meant(h, context) for h in result.unused),
        warnings=result.warnings,
        rests_on=tuple(sorted(rests_on - own)),
    )


def _claim(
    number: int,
    result: ClaimResult,
    context: Context,
    fixed: frozenset[Term],
    again: Again | None,
    language: str,
    place: tuple[str, str],  # the theory, and the lemma that states the claim in its file for Coq
) -> ClaimView:
    claim, account = result.claim, result.account
    context = result.context or context
    lines = line_views(result.proof, context) if result.proof is not None else ()
    steps: tuple[StepView, ...] = ()
    start = None
    if result.proof is not None and result.proof.steps and result.proof.claim.op == "cmp":
        start = result.proof.claim.args[0]
        conditions = account.conditions if account else []
        steps = tuple(step_views(start, result.proof.steps, conditions, context))
    return ClaimView(
        number=number,
        letters=tuple(sorted(claim.condition.letters - fixed, key=lambda k: k.value)),
        statement=claim.condition,
        source=claim.statement,
        caption=claim.translations.get(language, claim.caption),
        verdict=result.verdict,
        reason=words.spoken_reason(result.reason, result.counterexample is not None),
        start=start,
        steps=steps,
        lines=lines,
        closing=_closing(result, lines),
        signs=_signs(result.proof, context) if result.proof is not None else (),
        example=result.verdict == "proved" and result.proof is None,
        domain=tuple(dict.fromkeys(account.domain)) if account else (),
        obligations=telling(account.obligations) if account else (),
        hypotheses=tuple(as_meant(h, context) for h in result.hypotheses),
        counterexample=(
            counterexample.shown(result.counterexample, claim.condition, context) if result.counterexample else None
        ),
        again=again,
        coq=_recorded(result, context, *place),
    )


def _recorded(result: ClaimResult, context: Context, theory: str, lemma: str) -> record.Said | None:
    """What the recorded run of Coq says of this very claim and proof."""
    if result.verdict != "proved":
        return None
    return record.said(record.fingerprint(claim_data(result, context)), theory, lemma)


def _closing(result: ClaimResult, lines: Sequence[LineView]) -> str | None:
    """How the proof of an order or a logical claim ends."""
    if result.proof is None:
        return None
    claim = result.proof.claim
    if claim.op == "cmp" and claim.value == "==":
        return None
    if lines:
        return f"({lines[-1].number}) gives the claim" if claim.op == "cmp" else "these lines give the claim"
    if claim.op == "cmp":
        return "the signs in the normal form of left minus right decide it"
    return "it follows from what is declared and assumed"


def _signs(proof: Proof, context: Context) -> tuple[Condition, ...]:
    """The signs of the parts of an order that give it, where they do so by themselves."""
    if proof.claim.op != "cmp" or proof.claim.value == "==" or proof.steps or proof.lines:
        return ()
    ground = Ground(proof.claim, context)
    return sign_parts(ground.full, ground.claim)


def _account(result: TheoryResult) -> Account:
    rules: Counter[str] = Counter()
    steps = 0
    for theorem in result.theorems:
        for claim in theorem.claims:
            rules.update(claim.rules)
            steps += len(claim.proof.steps) + len(claim.proof.lines) if claim.proof else 0
    return Account(
        rules=_counted(rules, lambda name: name not in words.PROCEDURES),
        identities=_counted(rules, lambda name: name in words.PROCEDURES),
        steps=steps,
    )


def _counted(rules: Counter[str], kept: Callable[[str], bool]) -> tuple[RuleCount, ...]:
    """The rules that are kept, the most used first; those of one name and source are one to a reader."""
    found: Counter[tuple[str, str]] = Counter()
    for name, count in rules.items():
        if kept(name):
            found[words.rule_words(name), words.rule_source(name)] += count
    rows = (RuleCount(told, count, source) for (told, source), count in found.items())
    return tuple(sorted(rows, key=lambda row: (-row.count, row.words)))
