"""What a bound is: a number of roundings, some of them for each index of an axis, of a size."""

from __future__ import annotations

from dataclasses import dataclass

from derive.codegen.value import CodegenError
from derive.language.printer import to_text
from derive.term import Term


@dataclass(frozen=True)
class Count:
    """A number of roundings: so many, and for each axis so many times its size less one."""

    fixed: int = 0
    along: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Count | int) -> Count:
        if isinstance(other, int):
            return Count(self.fixed + other, self.along)
        sums = dict(self.along)
        for axis, times in other.along:
            sums[axis] = sums.get(axis, 0) + times
        return Count(self.fixed + other.fixed, tuple(sorted(sums.items())))

    def times(self, number: int) -> Count:
        return Count(self.fixed * number, tuple((axis, k * number) for axis, k in self.along))

    def most(self, other: Count) -> Count:
        """A count that is at least both."""
        theirs, mine = dict(other.along), dict(self.along)
        along = {axis: max(mine.get(axis, 0), theirs.get(axis, 0)) for axis in sorted({*mine, *theirs})}
        return Count(max(self.fixed, other.fixed), tuple(along.items()))

    def at(self, sizes: dict[str, int]) -> int:
        """The number at these sizes."""
        return self.fixed + sum(times * (sizes[axis] - 1) for axis, times in self.along)

    def __str__(self) -> str:
        """In the formula language, as a sum."""
        fixed = self.fixed - sum(times for _, times in self.along)
        parts = [f"{'' if times == 1 else f'{times}*'}{axis}" for axis, times in self.along]
        text = " + ".join(parts) or str(fixed)
        return text if not parts or not fixed else f"{text} {'+' if fixed > 0 else '-'} {abs(fixed)}"


NONE = Count()


@dataclass(frozen=True)
class Bound:
    """At most `count` roundings of the `size`; `own` where that is the part's own, up to its sign."""

    count: Count
    size: Term
    own: bool = True

    @property
    def exact(self) -> bool:
        return self.count == NONE

    def spoken(self, term: str = "") -> str:
        """The bound in words, u the unit roundoff."""
        if self.exact:
            return "exact"
        count = str(self.count)
        factor = f"({count})" if " " in count else count
        return f"{factor} u relative to each entry" if self.own else f"{factor} u {_factor(self.size)}"


def _factor(size: Term) -> str:
    text = to_text(size)
    return f"({text})" if size.op in ("add", "neg") else text


class NoBound(CodegenError):
    """The analysis does not cover a part; the message names it."""
