"""Nonnegative combinations by exact arithmetic: the simplex method on integers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm

Vector = Mapping[Hashable, int | Fraction]
Row = dict[int, int]  # entries by column; RIGHT is the right side. A row may be multiplied by any positive number
RIGHT = -1
MAX_CELLS = 9000
MAX_PIVOTS = 150
GREEDY = 100  # pivots that take the steepest column, before those that cannot run in a circle


def combine(
    target: Vector, columns: Sequence[Vector], free: Sequence[bool], wanted: Sequence[bool] = ()
) -> list[Fraction] | None:
    """Multipliers with sum(multiplier * column) == target, 0 or more except for the free columns; or None.

    Where `wanted` is given, at least one of the columns it marks gets a multiplier above 0.
    """
    alive = pruned(target, columns, free)
    if alive is None or (wanted and not any(wanted[j] for j in alive)):
        return None
    if len(alive) * len({m for j in alive for m in columns[j]}) > MAX_CELLS:
        return None
    signed = [(j, 1) for j in alive] + [(j, -1) for j in alive if free[j]]
    table = Table(target, columns, signed)
    if not table.feasible():
        return None
    if wanted:
        marked = {p for p, (j, _) in enumerate(signed) if wanted[j]}
        if not table.reaches(marked):
            return None
    found = [Fraction(0)] * len(columns)
    for column, value in table.values():
        j, side = signed[column]
        found[j] += side * value
    return found


def pruned(target: Vector, columns: Sequence[Vector], free: Sequence[bool]) -> list[int] | None:
    """The columns no entry of which is left without one that cancels it; None where the target cannot be met."""
    alive = [j for j, c in enumerate(columns) if c]
    while True:
        sides: dict[Hashable, set[int]] = {}
        owners: dict[Hashable, int] = {}
        for j in alive:
            for m, v in columns[j].items():
                sides.setdefault(m, set()).update({1, -1} if free[j] else {1 if v > 0 else -1})
                owners[m] = owners.get(m, 0) + 1
        if any((1 if v > 0 else -1) not in sides.get(m, ()) for m, v in target.items()):
            return None
        dead = {m for m, s in sides.items() if m not in target and (len(s) < 2 or owners[m] < 2)}
        kept = [j for j in alive if dead.isdisjoint(columns[j])]
        if len(kept) == len(alive):
            return kept
        alive = kept


class Table:
    """A simplex table: rows that hold, and the column whose multiplier each row gives. Artificial columns come last."""

    def __init__(self, target: Vector, columns: Sequence[Vector], signed: list[tuple[int, int]]):
        self.width = len(signed)
        self.rows: list[Row] = []
        places = {m: p for p, m in enumerate(dict.fromkeys([*target, *(m for j, _ in signed for m in columns[j])]))}
        raw: list[dict[int, int | Fraction]] = [{} for _ in places]
        for m, v in target.items():
            raw[places[m]][RIGHT] = v
        for p, (j, side) in enumerate(signed):
            for m, v in columns[j].items():
                raw[places[m]][p] = side * v
        for row in raw:
            scale = lcm(*(Fraction(v).denominator for v in row.values())) * (-1 if row.get(RIGHT, 0) < 0 else 1)
            self.rows.append({p: int(v * scale) for p, v in row.items()})
        self.basis = [self.width + r for r in range(len(self.rows))]

    def feasible(self) -> bool:
        """Bring the artificial columns to 0."""
        cost: Row = {}
        for row in self.rows:
            for p, v in row.items():
                cost[p] = cost.get(p, 0) - v
        self.minimise(cost)
        if any(b >= self.width and row.get(RIGHT) for b, row in zip(self.basis, self.rows, strict=True)):
            return False
        for r in reversed(range(len(self.rows))):
            if self.basis[r] >= self.width:
                entering = next((p for p in self.rows[r] if p != RIGHT), None)
                if entering is None:
                    del self.rows[r], self.basis[r]
                else:
                    self.pivot(r, entering)
        return True

    def reaches(self, marked: set[int]) -> bool:
        """Move on until a marked column has a multiplier above 0."""
        if self.in_use(marked):
            return True
        cost: Row = dict.fromkeys(marked, -1)
        for b, row in zip(self.basis, self.rows, strict=True):
            if cost.get(b):
                cost = reduced(cost, row, b)
        self.minimise(cost, marked)
        return self.in_use(marked)

    def in_use(self, marked: set[int]) -> bool:
        return any(b in marked and row.get(RIGHT) for b, row in zip(self.basis, self.rows, strict=True))

    def minimise(self, cost: Row, marked: set[int] | None = None) -> None:
        """Pivot until no cost is negative; with `marked`, until one of those is in use."""
        for count in range(MAX_PIVOTS):
            below = [p for p, v in cost.items() if v < 0 and p != RIGHT]
            if not below or (marked is not None and self.in_use(marked)):
                return
            entering = min(below, key=lambda p: (cost[p], p)) if count < GREEDY else min(below)
            choices = [
                (Fraction(row.get(RIGHT, 0), row[entering]), b, r)
                for r, (row, b) in enumerate(zip(self.rows, self.basis, strict=True))
                if row.get(entering, 0) > 0
            ]
            if not choices:  # a ray: possible with `marked` only
                self.along(entering)
                return
            r = min(choices)[2]
            self.pivot(r, entering)
            cost = reduced(cost, self.rows[r], entering)

    def pivot(self, r: int, entering: int) -> None:
        row = self.rows[r]
        if row[entering] < 0:  # only where the right side is 0
            row = self.rows[r] = {p: -v for p, v in row.items()}
        for s, other in enumerate(self.rows):
            if s != r and entering in other:
                self.rows[s] = reduced(other, row, entering)
        self.basis[r] = entering

    def along(self, entering: int) -> None:
        """One step along a ray: the entering multiplier is 1."""
        for r, (row, b) in enumerate(zip(self.rows, self.basis, strict=True)):
            if entering in row:
                scaled = {p: v for p, v in row.items() if p != entering}
                scaled[RIGHT] = row.get(RIGHT, 0) - row[entering]
                self.rows[r] = scaled
                assert row[b] > 0
        self.rows.append({entering: 1, RIGHT: 1})
        self.basis.append(entering)

    def values(self) -> list[tuple[int, Fraction]]:
        pairs = zip(self.basis, self.rows, strict=True)
        return [(b, Fraction(row.get(RIGHT, 0), row[b])) for b, row in pairs if b < self.width]


def reduced(row: Row, by: Row, entering: int) -> Row:
    """The row without the entering column, times a positive number."""
    up, down = by[entering], row[entering]
    common = gcd(up, down)
    up, down = up // common, down // common
    made = {p: v * up for p, v in row.items()} if up != 1 else dict(row)
    for p, v in by.items():
        value = made.get(p, 0) - down * v
        if value:
            made[p] = value
        else:
            made.pop(p, None)
    if up != 1 and made:
        common = gcd(*made.values())
        if common > 1:
            made = {p: v // common for p, v in made.items()}
    return made
