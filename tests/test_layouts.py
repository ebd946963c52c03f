"""Layouts of formulas, packed: what is read back is what was laid out, and of what is too much the first ones."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from typing import Any
from xml.etree import ElementTree

import pytest

from derive.report import katex
from derive.report.layouts import packed

FORMULAS = (
    r"\sum_{k} \exp(U_{i k}) V_{k c}",
    r"= \frac{\partial}{\partial b} \left( \begin{aligned} & \sqrt{x} \\ & \cdot \exp(U_{i k}) \end{aligned} \right)",
    r"\mathbb{E}[x^{2}] \leq \text{a < b}",
    r"\sum_{k} \exp(U_{i k}) V_{k c}",
)
needs_engine = pytest.mark.skipif(katex._engine() is None, reason="quickjs-ng is not installed")


def unpacked(text: str) -> tuple[list[int], list[str]]:
    """The places and the layouts, read as templates/report.js reads them."""
    places, *trees = json.loads(gzip.decompress(base64.b64decode(text)))
    heads: list[str] = []
    kept: list[str] = []

    def built(node: Any) -> str:
        if isinstance(node, str):
            return escape(node)
        if isinstance(node, int):
            return kept[node]
        keep = isinstance(node[0], list)
        head, *parts = node[0] if keep else node
        if isinstance(head, str):
            heads.append(head)
        else:
            head = heads[head]
        classes, style, tag, *rest = head.split("|") + [""] * (2 - head.count("|"))
        attributes = {"class": classes, "style": style, **dict(zip(rest[::2], rest[1::2], strict=True))}
        words = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
        text = f"<{tag or 'span'}{words}>{''.join(map(built, parts))}</{tag or 'span'}>"
        if keep:
            kept.append(text)
        return text

    return places, [built(tree) for tree in trees]


def same(layout: str, read: str) -> bool:
    """Whether two layouts are the same tree, whatever the name space of what is drawn."""
    trees = [
        ElementTree.canonicalize(text.replace(' xmlns="http://www.w3.org/2000/svg"', "")) for text in (layout, read)
    ]
    return trees[0] == trees[1]


def laid_out() -> list[str]:
    return [r.html for r in katex.rendered([(tex, True) for tex in FORMULAS]) or ()]


@needs_engine
def test_what_is_unpacked_is_what_was_packed() -> None:
    given = laid_out()
    places, read = unpacked(packed([0, 2, 1, 0, 3], given, 1 << 20))
    assert places == [0, 2, 1, 0, 3]
    assert len(read) == len(given)
    assert all(same(layout, again) for layout, again in zip(given, read, strict=True))


@needs_engine
def test_of_what_is_too_much_the_first_layouts_are_packed() -> None:
    given = laid_out()
    whole = packed([0, 1, 2, 3], given, 1 << 20)
    counts = []
    for room in range(len(whole), 0, -40):
        text = packed([0, 1, 2, 3], given, room)
        assert len(text) <= room
        read = unpacked(text)[1] if text else []
        assert all(same(layout, again) for layout, again in zip(given, read, strict=False))
        counts.append(len(read))
    assert counts == sorted(counts, reverse=True)
    assert {0, 1, 4} <= set(counts)


@needs_engine
def test_equal_layouts_are_written_once() -> None:
    given = laid_out()
    assert len(packed([0], given * 20, 1 << 20)) < len(packed([0], given, 1 << 20)) + 200
