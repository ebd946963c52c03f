"""A checked theory as a certificate file."""

from __future__ import annotations

import hashlib
from typing import Any

from derive.engine.verdict import ClaimResult, TheoryResult
from derive.kernel import certificate
from derive.kernel.context import Context


def certificate_of(result: TheoryResult) -> dict[str, Any]:
    """The certificate of the theory's proved claims, as data for JSON."""
    theory = result.theory
    theorems = []
    for checked in result.theorems:
        claims = [claim_data(c, c.context) for c in checked.claims if c.verdict == "proved" and c.context]
        theorems.append({"name": checked.theorem.name, "verdict": checked.verdict, "claims": claims})
    return {
        "format": certificate.FORMAT,
        "version": certificate.VERSION,
        "theory": theory.name,
        "text": theory.text,
        "sha256": hashlib.sha256(theory.text.encode()).hexdigest(),
        "theorems": theorems,
    }


def claim_data(claim: ClaimResult, context: Context) -> dict[str, Any]:
    """One claim with everything that its replay needs, sealed by a digest."""
    data: dict[str, Any] = {
        "statement": claim.claim.statement,
        "line": claim.claim.line,
        "claim": certificate.encode(claim.claim.condition),
        "context": certificate.encode_context(context, [claim.claim.condition]),
    }
    if claim.proof is None or claim.account is None:
        data |= {"kind": "example"}
    else:
        data |= {"kind": "proof", "proof": certificate.encode_proof(claim.proof, claim.account)}
    return data | {"digest": certificate.digest(data)}
