"""A theory's theorems, one after the other: proved by the kernel, refuted by a counterexample, or honestly neither."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from derive.engine.certify import terms_of
from derive.engine.closed import restated
from derive.engine.prove import Attempt, prove
from derive.engine.reasons import explained
from derive.engine.verdict import ClaimResult, TheoremResult, TheoryResult
from derive.kernel.check import Ground, pure_index
from derive.kernel.check import check as kernel_check
from derive.kernel.context import Context, Lemma
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Proof, Rejected
from derive.language.declarations import law_condition
from derive.language.places import transform
from derive.language.printer import to_text
from derive.language.theory import Claim, Theorem, Theory
from derive.term import CONDITIONS, TRUE, Term, cmp, subterms
from derive.term import ZERO as NOUGHT

RECURSION = 20_000  # Python frames; pure Python calls use no C stack
REFUTE_SECONDS = 6.0


class OutOfTime(Exception):
    """The time limit of a claim is over."""


def check_theory(
    theory: Theory,
    timeout: float = 30.0,
    only: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> TheoryResult:
    """Check every theorem of the theory, or the one named.

    `timeout` is in seconds for each claim. `progress` is told the name of each theorem before it is checked.
    """
    result = check_theorems(theory, timeout, None if only is None else {only}, progress)
    return replace(result, theorems=tuple(r for r in result.theorems if only is None or r.theorem.name == only))


def check_theorems(
    theory: Theory, timeout: float, wanted: set[str] | None, progress: Callable[[str], None] | None = None
) -> TheoryResult:
    """Check these theorems (all of them for None), with the earlier and imported ones that they lean on."""
    results: list[TheoremResult] = []
    found = list(imported(theory, timeout))
    # Only what is imported by name: what that leans on may be called like a theorem of another theory.
    verdicts = {
        t.theorem.name: t.verdict for names, source in found for t in source.theorems if t.theorem.name in names
    }
    for theorem in theory.theorems:
        if wanted is None or theorem.name in wanted or any(needed(theory, theorem.name, name) for name in wanted):
            if progress is not None:
                progress(theorem.name)
            result = check_theorem(theory, theorem, verdicts, timeout)
            verdicts[theorem.name] = result.verdict
            results.append(result)
    return TheoryResult(theory, tuple(results), tuple(source for _, source in found))


def needed(theory: Theory, name: str, only: str) -> bool:
    """Whether the theorem called `only` leans on the one called `name`."""
    try:
        wanted = [name_ for claim in theory[only].claims for name_ in claim.by]
    except KeyError:
        return False
    return name in wanted or any(needed(theory, name, other) for other in wanted if other != only)


def imported(theory: Theory, timeout: float) -> Iterator[tuple[set[str], TheoryResult]]:
    """The theorems that were imported by name, proved again with those that they lean on."""
    for item in theory.imports:
        wanted = {t.name for t in item.theory.theorems} & set(item.names)
        if wanted:
            yield wanted, check_theorems(item.theory, timeout, wanted)


def lemma_sources(theory: Theory) -> dict[str, tuple[Theory, Theorem]]:
    found = {t.name: (theory, t) for t in theory.theorems}
    for item in theory.imports:
        for t in item.theory.theorems:
            if t.name in item.names:
                found.setdefault(t.name, (item.theory, t))
    return found


def lemmas_of(theory: Theory, theorem: Theorem) -> list[Lemma]:
    """The theorem's claims as lemmas, with all its hypotheses: which of them the user shares is for the kernel to see.

    The theorem's own definitions are unfolded in both, since another theorem may have others of the same names.
    """
    context = theory.context(theorem)
    nf = Normal(context)
    local = {d.name for d in theorem.definitions}

    def unfold(t: Term) -> Term | None:
        return nf.unfold(t) if t.op == "def" and t.value in local else None

    def unfolded(term: Term) -> Term:
        while term.names & local:
            term = transform(term, unfold)
        return term

    rests_on = tuple(unfolded(h) for h in context.hypotheses)
    return [
        Lemma(theorem.name, unfolded(c.condition), rests_on, theorem.declarations, theorem.name, k, context.letters)
        for k, c in enumerate(theorem.claims, 1)
    ]


def check_theorem(theory: Theory, theorem: Theorem, verdicts: dict[str, str], timeout: float) -> TheoremResult:
    """Check the theorem's claims in order; earlier ones serve the later ones as lemmas."""
    claims: list[ClaimResult] = []
    own: list[Lemma] = []
    sources = lemma_sources(theory)
    for number, claim in enumerate(theorem.claims, 1):
        named = [lemma for name in claim.by if name in sources for lemma in lemmas_of(*sources[name])]
        context = theory.context(theorem, (*own, *named))
        result = check_claim(claim, context, timeout)
        if result.account is not None:
            weak = [n for n in claim.by if n in result.lemmas and verdicts.get(n) != "proved"]
            if weak:  # without them it may be proved all the same, or refuted
                strong = tuple(lemma for lemma in context.lemmas if lemma.name not in weak)
                result = check_claim(claim, replace(context, lemmas=strong), timeout)
                if result.verdict in ("undecided", "checked"):
                    reason = f"rests on {', '.join(weak)}, which is not proved"
                    result = replace(result, verdict="undecided", reason=reason)
        if result.account is not None:  # only the lemmas that were used are kept: what the proof rests on, and no more
            result = replace(result, context=result.context if result.lemmas else theory.context(theorem))
        claims.append(result)
        if result.verdict == "proved":
            restrictions = tuple(h for h in context.hypotheses if pure_index(h, context))
            rests_on = (*result.hypotheses, *(h for h in restrictions if h not in result.hypotheses))
            own.append(Lemma(f"claim {number}", claim.condition, rests_on, (), theorem.name, number, context.letters))
    used = {h for c in claims for h in c.hypotheses}
    every = all(c.verdict == "proved" for c in claims)
    unused = tuple(h for h in theorem.hypotheses if h not in used) if every else ()
    return TheoremResult(theorem, tuple(claims), unused)


def check_claim(claim: Claim, context: Context, timeout: float) -> ClaimResult:
    """The verdict on one claim."""
    start = time.monotonic()
    deadline = start + timeout
    old_limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(old_limit, RECURSION))
    try:
        result = _judge(claim, context, deadline)
    except (RecursionError, MemoryError):
        result = ClaimResult(claim, "undecided", "the expression is nested too deeply, or too large, to be judged")
    finally:
        sys.setrecursionlimit(old_limit)
    return replace(result, seconds=time.monotonic() - start)


def _until(deadline: float) -> Callable[[], None]:
    """What raises OutOfTime once the deadline is over."""

    def tick() -> None:
        if time.monotonic() > deadline:
            raise OutOfTime

    return tick


def _judge(claim: Claim, context: Context, deadline: float) -> ClaimResult:
    tick = _until(deadline)
    if is_example(claim.condition, context):
        return _example(claim, context, deadline, tick)
    try:
        attempt = prove(claim.condition, context, tick)
    except OutOfTime:
        attempt = Attempt(reason="the time limit was reached")
    except RecursionError:
        attempt = Attempt(reason="the expression is nested too deeply for the engine")
    if attempt.proof is not None and attempt.account is not None:
        doubt = _doubt(claim, context, attempt.account, deadline)
        if doubt is not None:
            return ClaimResult(claim, "undecided", doubt)
        used = needed_hypotheses(attempt.proof, context)
        account = explained(attempt.account, claim.condition)
        return ClaimResult(claim, "proved", None, attempt.proof, account, None, used, context=context)
    return _without_proof(claim, context, attempt, deadline)


def needed_hypotheses(proof: Proof, context: Context) -> tuple[Term, ...]:
    """Hypotheses that are enough for the kernel, each of them needed where the others are all there is.

    The kernel takes for granted that laws are laws: what their parameters must satisfy is needed wherever one is met.
    """
    needed = list(context.hypotheses)
    names = {name for t in (proof.claim, *terms_of(proof)) for name in context.reached(t.names)}
    laws = [law_condition(d.law) for d in context.declarations.values() if d.law is not None and d.name in names]
    for number, hypothesis in enumerate(context.hypotheses):
        without = (*needed[:number], TRUE, *needed[number + 1 :])
        try:
            if hypothesis not in laws:
                kernel_check(proof, replace(context, hypotheses=without))
                needed[number] = TRUE
        except Rejected:
            continue
    return tuple(h for h in needed if h is not TRUE)


def is_example(condition: Term, context: Context) -> bool:
    """Whether the claim is about numbers: the hypotheses give the entries of an array, or it has no variable at all."""
    if any(t.op == "list" for h in context.hypotheses for t in subterms(h)):
        return True
    return not condition.names and not any(t.op in ("size", "index") for t in subterms(condition))


def _example(claim: Claim, context: Context, deadline: float, tick: Callable[[], None]) -> ClaimResult:
    from derive.kernel import examples

    try:
        numbers = examples.decide(claim.condition, context, tick)
    except OutOfTime:
        return _without_proof(claim, context, Attempt(reason="the time limit was reached"), deadline)
    except Rejected as why:
        return _without_proof(claim, context, Attempt(reason=str(why)), deadline)
    used = tuple(h for n, h in enumerate(context.hypotheses) if n in numbers)
    if len(used) < len(context.hypotheses):  # some hypothesis was not looked at: is there a point at all?
        doubt = _doubt(claim, context, Account(), deadline)
        if doubt is not None:
            return ClaimResult(claim, "undecided", doubt)
    return ClaimResult(claim, "proved", None, None, Account(), None, used)


def _doubt(claim: Claim, context: Context, account: Account, deadline: float, proved: bool = True) -> str | None:
    """Why a proof, if there is one, is not enough: nothing satisfies the hypotheses, or the left side is undefined."""
    if proved and not context.hypotheses and not account.domain:
        return None
    from derive.evidence.refute import vacuous, witness

    # The work is bounded; a busy machine has time for it, and there is some however late the proof was found.
    seconds = max(0.5, min(10.0, deadline - time.monotonic()))
    point = witness(context, claim.condition, seconds, account.domain)
    # Whether a mean or limit exists is not always seen at a point; where it is asked for, it must be.
    asked = any(t.op in ("E", "Var", "Cov", "limit") for c in account.domain for t in subterms(c))
    if point is None and context.hypotheses and vacuous(context, seconds):
        found = "no point was found where the hypotheses hold: the theorem may be vacuous"
    elif point is None or (asked and point.get("defined") is False):
        found = "no point was found where the hypotheses hold and the left side is defined: the claim may be empty"
    else:
        return None
    closed = _closed(claim, context)
    return f"{found}; {closed}" if closed else found


def _closed(claim: Claim, context: Context) -> str:
    """That a hypothesis is about all letters, where it may have been meant of the one that the claim has too."""
    for h in context.hypotheses:
        letters = sorted(h.letters - context.letters, key=lambda k: k.value)
        if not claim.condition.letters.isdisjoint(letters) and not pure_index(h, context):
            names, declared = ", ".join(k.value[0] for k in letters), "{}: index[{}]".format(*letters[0].value)
            return f"{to_text(h)} is assumed for all {names}, where a declared letter, {declared}, is one"
    return ""


def _without_proof(claim: Claim, context: Context, attempt: Attempt, deadline: float) -> ClaimResult:
    from derive.evidence.refute import refute, refute_as_equal

    seconds = max(1.0, min(REFUTE_SECONDS, deadline - time.monotonic()))
    counterexample = refute(claim.condition, context, seconds)
    for other in () if counterexample is not None else _restated(claim, context, deadline):
        found = refute(other, context, max(1.0, min(REFUTE_SECONDS, deadline - time.monotonic())))
        if found is not None and (found.get("undefined") is None or other.args[1] is claim.condition.args[1]):
            counterexample = found  # else a form is undefined where its side may not be
            break
    if counterexample is None and _sides_are_equal(claim, context, deadline):
        counterexample = refute_as_equal(claim.condition, context, max(1.0, deadline - time.monotonic()))
    if counterexample is not None:
        return ClaimResult(claim, "refuted", explain(attempt), counterexample=counterexample)
    from derive.evidence.exact import holds_at_small_sizes

    agrees = holds_at_small_sizes(claim.condition, context, min(3.0, max(0.5, deadline - time.monotonic())))
    reason = explain(attempt)
    if not agrees:  # what is missing matters less than that there is nothing to speak of
        reason = _doubt(claim, context, Account(), deadline, proved=False) or reason
    return ClaimResult(claim, "checked" if agrees else "undecided", reason)


def _sides_are_equal(claim: Claim, context: Context, deadline: float) -> bool:
    """Whether the sides of a claim that they differ are known to be equal, which enclosures may not tell."""
    from derive.kernel import examples

    condition, tick = claim.condition, _until(deadline)
    if condition.op != "cmp" or condition.value not in ("<", ">", "!=") or condition.args[1].op == "list":
        return False
    try:
        if is_example(condition, context):
            examples.decide(cmp("==", *condition.args), context, tick)
            return True
        nf = Ground(condition, context, tick).full
        return nf.equal(*condition.args)
    except (Rejected, OutOfTime, RecursionError):
        return False


def _restated(claim: Claim, context: Context, deadline: float) -> list[Term]:
    try:
        return restated(claim.condition, context, _until(deadline))
    except OutOfTime:
        return []


def explain(attempt: Attempt) -> str:
    """The reason in words, with the hypothesis that is missing, or what was left of left - right."""
    reason = attempt.reason or "no derivation was found"
    if attempt.missing is not None:
        missing = part = readable(attempt.missing)
        while part.op == "all":
            part = part.args[0]
        if part.op not in CONDITIONS:  # a mean, limit or maximum that may not exist
            return f"{reason}: {to_text(part)}"
        return f"{reason}: it would follow with assume({to_text(missing)})"
    if attempt.gap is None:
        return reason
    text = to_text(readable(attempt.gap))
    if len(text) <= SHOWN or attempt.apart is None:
        return f"{reason}; left - right comes down to {text if len(text) <= SHOWN else text[:SHOWN] + ' …'}"
    left, right = (to_text(readable(side)) if side is not NOUGHT else "0" for side in attempt.apart)
    where = f"the left side has {left}, the right side {right}"
    return f"{reason}; in normal form {where}" if len(where) <= 2 * SHOWN else reason


SHOWN = 200  # characters of what is left of left - right


def readable(term: Term) -> Term:
    """The term with letters that a reader would use for the canonical ones."""
    from derive.term import index, substitute

    letters = {t for t in subterms(term) if t.op == "index"} | {k for t in subterms(term) for k in t.bound}
    taken = {k.value[0] for k in letters}
    names = [c for c in "klmpqrstuvw" if c not in taken] + [f"k{p}" for p in range(1, 40)]

    def walk(t: Term) -> Term:
        from derive.term import make, rebuild

        if not t.args:
            return t
        if t.bound:
            depth = sum(1 for _ in t.bound)
            new = []
            mapping = {}
            for p, k in enumerate(t.bound):
                if k.value[0][0] in "$@":
                    level = int(k.value[0].strip("$@").split(".")[0])
                    fresh_letter = index(names[(level * 2 + p) % len(names)], k.value[1])
                    mapping[k] = fresh_letter
                    new.append(fresh_letter)
                else:
                    new.append(k)
            args = [substitute(a, mapping) for a in t.args]
            assert depth == len(new)
            return make(t.op, [walk(a) for a in args], t.value, new)
        return rebuild(t, [walk(a) for a in t.args])

    return walk(term)
