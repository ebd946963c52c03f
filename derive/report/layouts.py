"""KaTeX's layouts of the formulas of a page, packed: what they have in common is written once.

What is packed is a list in JSON: first the number of each formula in the page, then the layout of each by its number.
A layout is a tree. A string is text, `[head, parts...]` an element, `[[head, parts...]]` an element to be kept, and
a number one that was kept, counted from 0 in the order in which they end. A head says what the element is,
`classes|style|tag|name|value...`, the last of it left out for a `span`; a head that was met before is its number.
`templates/report.js` reads this. A part of the list that ends after a layout can be read by itself, so that of what is
too much, the first layouts are packed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_GZIP = 31  # what zlib is told for a whole file of gzip, which has no date then
_Node = str | tuple[str, tuple[int, ...]]  # text, or an element's head and the numbers of its parts


def packed(places: Sequence[int], layouts: Iterable[str], room: int) -> str:
    """The layouts in base 64, or as many of the first ones as there is room for; nothing where that is none."""
    parts = [json.dumps(places, separators=(",", ":")), *_written([_parsed(html) for html in layouts])]
    whole = _gzipped(parts)
    while len(whole) > room:
        if (fit := _fitting(parts, room)) < 2:
            return ""
        parts = parts[:fit]
        whole = _gzipped(parts)
    return whole


def _gzipped(parts: Sequence[str]) -> str:
    return base64.b64encode(zlib.compress(f"[{','.join(parts)}]".encode(), 9, _GZIP)).decode()


def _fitting(parts: Sequence[str], room: int) -> int:
    """How many of the parts fit, found while they are compressed once."""
    squeezed = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    length = len(squeezed.compress(b"["))
    for count, part in enumerate(parts):
        length += len(squeezed.compress(f"{',' if count else ''}{part}".encode()))
        end = squeezed.copy()
        if (length + len(end.compress(b"]") + end.flush()) + 2) // 3 * 4 > room:
            return count
    return len(parts) - 1  # a few bytes may differ


def _parsed(html: str) -> Element:
    """The one element of a layout."""
    return ElementTree.fromstring(html)


def _written(layouts: Sequence[Element]) -> list[str]:
    """The layouts one after another."""
    nodes: dict[_Node, int] = {}
    roots = [_number(layout, nodes) for layout in layouts]
    table = list(nodes)
    uses = Counter([*roots, *(part for node in table if not isinstance(node, str) for part in node[1])])
    heads: dict[str, int] = {}
    kept: dict[int, int] = {}

    def tree(number: int) -> object:
        node = table[number]
        if isinstance(node, str):
            return node
        if number in kept:
            return kept[number]
        head, parts = node
        known = heads.get(head)
        if known is None:
            heads[head] = len(heads)
        element = [head if known is None else known, *map(tree, parts)]
        if uses[number] == 1:
            return element
        kept[number] = len(kept)
        return [element]

    return [json.dumps(tree(root), ensure_ascii=False, separators=(",", ":")) for root in roots]


def _number(element: Element, nodes: dict[_Node, int]) -> int:
    """The number of the element among those that differ, which are put down as far as they are new."""
    parts = [] if element.text is None else [nodes.setdefault(element.text, len(nodes))]
    for child in element:
        parts.append(_number(child, nodes))
        if child.tail is not None:
            parts.append(nodes.setdefault(child.tail, len(nodes)))
    return nodes.setdefault((_head(element), tuple(parts)), len(nodes))


def _head(element: Element) -> str:
    rest = {name: value for name, value in element.attrib.items() if name not in ("class", "style")}
    tag = element.tag.rpartition("}")[2]
    words = [element.get("class", ""), element.get("style", "")]
    if rest or tag != "span":
        words += [tag, *(word for pair in rest.items() for word in pair)]
    return "|".join(words).rstrip("|")
