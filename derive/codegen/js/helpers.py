"""Snippets that JavaScript carries with it, by the name it calls them."""

from __future__ import annotations

import re

from derive.codegen.helpers import SNIPPETS as NUMPY

SNIPPETS: dict[str, str] = {
    "_sizes": """
/** The sizes of the axes, read off the arrays; a RangeError where one is empty or two disagree. */
function _sizes(axes, arrays, sizes = new Map()) {
  const read = (array, name, [axis, ...inner]) => {
    if (axis === undefined) return;
    const size = array.length;
    if (!(size > 0) || (sizes.has(axis) && size !== sizes.get(axis))) {
      throw new RangeError(`axis ${axis}: size ${size} in ${name}, expected ${sizes.get(axis) ?? "at least 1"}`);
    }
    sizes.set(axis, size);
    if (inner.length > 0) for (const part of array) read(part, name, inner);
  };
  for (const [array, name, ...own] of arrays) read(array, name, own);
  return axes.map((axis) => sizes.get(axis));
}
""",
    "_depth": """
/** How many arrays lie one in the other. */
function _depth(array) {
  return array?.length === undefined ? 0 : 1 + _depth(array[0]);
}
""",
    "_batched": """
/**
 * The function of the arguments, each given with its number of own axes; where some have more, it is taken at each
 * place of those leading axes, which broadcast, and its results, so many, are nested in the same way.
 */
function _batched(results, given, f) {
  const extra = given.map(([argument, own]) => _depth(argument) - own);
  const most = Math.max(...extra);
  if (!(most > 0)) return f(...given.map(([argument]) => argument));
  const long = given.filter(([{ length }], k) => extra[k] === most && length !== 1);
  const size = long.length > 0 ? long[0][0].length : 1;
  for (const [{ length }] of long) {
    if (length !== size) throw new RangeError(`batch axes of the sizes ${size} and ${length} do not broadcast`);
  }
  const at = (k) => ([array, own], p) => [extra[p] < most ? array : array[array.length === 1 ? 0 : k], own];
  const all = Array.from({ length: size }, (_, k) => _batched(results, given.map(at(k)), f));
  return results === 1 ? all : Array.from({ length: results }, (_, p) => all.map((several) => several[p]));
}
""",
    "_atLeast": """
/** A RangeError where the axis lacks an entry that the formula names. */
function _atLeast(axis, size, least) {
  if (size < least) throw new RangeError(`axis ${axis}: size ${size}, but the formula names entry ${least - 1}`);
}
""",
    "_checkIndex": """
/** A RangeError where the value, or an entry of the array, is no index of the axis. */
function _checkIndex(name, value, axis, size) {
  if (value?.length !== undefined) {
    for (const part of value) _checkIndex(name, part, axis, size);
  } else if (!Number.isInteger(value) || value < 0 || value >= size) {
    throw new RangeError(`axis ${axis}: ${name} must hold integers from 0 to ${size - 1}`);
  }
}
""",
    "_array": """
/** f(0), …, f(size - 1) as an array of doubles. */
function _array(size, f) {
  const array = new Float64Array(size);
  for (let k = 0; k < size; k++) array[k] = f(k);
  return array;
}
""",
    "_rows": """
/** f(0), …, f(size - 1), each an array. */
function _rows(size, f) {
  return Array.from({ length: size }, (_, k) => f(k));
}
""",
    "_sum": """
/** The sum of f(k) for k in [low, high), by halves, so that rounding errors grow with the logarithm of the size. */
function _sum(high, f, low = 0) {
  if (high - low > 8) {
    const middle = (low + high) >> 1;
    return _sum(middle, f, low) + _sum(high, f, middle);
  }
  let total = 0;
  for (let k = low; k < high; k++) total += f(k);
  return total;
}
""",
    "_prod": """
/** The product of f(k) for k in [0, size). */
function _prod(size, f) {
  let product = 1;
  for (let k = 0; k < size; k++) product *= f(k);
  return product;
}
""",
    "_max": """
/** The largest f(k) for k in [0, size). */
function _max(size, f) {
  let peak = -Infinity;
  for (let k = 0; k < size; k++) peak = Math.max(peak, f(k));
  return peak;
}
""",
    "_min": """
/** The smallest f(k) for k in [0, size). */
function _min(size, f) {
  let low = Infinity;
  for (let k = 0; k < size; k++) low = Math.min(low, f(k));
  return low;
}
""",
    "_argmax": """
/** The least k in [0, size) at which f(k) is largest. */
function _argmax(size, f) {
  let place = 0;
  for (let k = 1, peak = f(0); k < size; k++) {
    const value = f(k);
    if (value > peak || (Number.isNaN(value) && !Number.isNaN(peak))) [place, peak] = [k, value];
  }
  return place;
}
""",
    "_all": """
/** Whether f(k) holds for every k in [0, size). */
function _all(size, f) {
  for (let k = 0; k < size; k++) if (!f(k)) return false;
  return true;
}
""",
    "_any": """
/** Whether f(k) holds for some k in [0, size). */
function _any(size, f) {
  for (let k = 0; k < size; k++) if (f(k)) return true;
  return false;
}
""",
    "_sigmoid": """
/** 1 / (1 + exp(-x)), by the sign of x so that nothing overflows. */
function _sigmoid(x) {
  const e = Math.exp(-Math.abs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}
""",
    "_softplus": """
/** log(1 + exp(x)), by the sign of x so that nothing overflows. */
function _softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
""",
    "_polynomial": """
/** The polynomial with these coefficients, the highest power first. */
function _polynomial(coefficients, x) {
  return coefficients.reduce((value, coefficient) => value * x + coefficient, 0);
}
""",
}

# The special functions: the text of the NumPy snippets' tables of coefficients, filled in by `special`.
SPECIAL: dict[str, str] = {
    "_erf": """
/** The error function, within a few units of the last place. */
function _erf(x) {
  const near = {near};
  const far = {far};
  const a = Math.min(Math.abs(x), 6);
  if (a < 1) return x * _polynomial(near, a * a);
  return Math.sign(x) * (1 - (Math.exp(-a * a) / a) * _polynomial(far, (a - 2.5) / (a + 2.5)));
}
""",
    "_lgamma": """
/** The logarithm of the gamma function above 0, within some units of the last place. */
function _lgamma(x) {
  if (!(x > 0)) return NaN;
  if (x < 4.5) {
    const fit = {fit};
    const steps = Math.min(Math.max(Math.ceil(x - 2.5), 0), 2);
    const b = x < 0.75 ? x + 1 : x - steps;
    const near = (b - 1) * (b - 2) * _polynomial(fit, b - 1.625);
    return near + (x < 0.75 ? -Math.log(x) : Math.log((steps > 0 ? b : 1) * (steps > 1 ? b + 1 : 1)));
  }
  const series = {series};
  const w = x < 10 ? x + 7 : x;
  const far = (w - 0.5) * Math.log(w) - w + 0.5 * Math.log(2 * Math.PI) + _polynomial(series, 1 / (w * w)) / w;
  return x < 10 ? far - Math.log(_prod(7, (k) => x + k)) : far;
}
""",
    "_digamma": """
/** The derivative of lgamma above 0, within a few units of the last place. */
function _digamma(x) {
  if (!(x > 0)) return NaN;
  if (x < 3) {
    const fit = {fit};
    const b = x < 1 ? x + 1 : x > 2 ? x - 1 : x;
    const near = (b - 1.4616321449683622 - 9.549995429965697e-17) * _polynomial(fit, b - 1.5);
    return near + (x < 1 ? -1 / x : x > 2 ? 1 / (x - 1) : 0);
  }
  const series = {series};
  const w = x + 8;
  return Math.log(w) - 0.5 / w + _polynomial(series, 1 / (w * w)) - _sum(8, (k) => 1 / (x + k));
}
""",
    "_trigamma": """
/** The derivative of digamma above 0, within a few units of the last place. */
function _trigamma(x) {
  if (!(x > 0)) return NaN;
  const series = {series};
  const w = x + 12;
  return _sum(12, (k) => 1 / ((x + k) * (x + k))) + 1 / w + 0.5 / (w * w) + _polynomial(series, 1 / (w * w)) / w;
}
""",
}


def snippet(name: str) -> str:
    """The snippet's text, the tables of a special function filled in from the NumPy snippet of that name."""
    if name in SNIPPETS:
        return SNIPPETS[name].strip()
    text = SPECIAL[name].strip()
    for table in re.findall(r"= \{(\w+)\};", text):
        found = re.search(rf"{table} = \((.*?)\n? *\)\n", NUMPY[name], re.DOTALL)
        assert found, f"{name} has no table {table}"
        lines = [line.strip() for line in found.group(1).strip().splitlines()]
        inside = lines[0] if len(lines) == 1 else "\n    " + "\n    ".join(lines) + "\n  "
        text = text.replace(f"{{{table}}}", f"[{inside}]")
    return text


def needed(name: str) -> list[str]:
    """The snippet and those that it calls."""
    others = [k for k in SNIPPETS if k != name and re.search(rf"\b{k}\b", snippet(name))]
    return [name, *(k for other in others for k in needed(other))]
