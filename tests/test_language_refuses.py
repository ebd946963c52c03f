"""What the formula language refuses, where the error points, and what it says would be right.

In each text the mark § stands before the place that the error must name.
"""

from __future__ import annotations

import pytest

from derive.language import LanguageError, loads
from derive.language.words import CALLABLE, WRITTEN_OUT

DECLARATIONS = """
n: axis
m: axis
x: real
p: positive
z: real[n]
W: real[m, n]
bits: bit[n]
count: integer
label: index[n]
t: index[n][m]
q: random(mean=0, variance=1)[n]
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
noise = sum(q[i] for i in n)
"""

HINTED = """
n: axis
x: real{}
y: real{}
z: real[n]
A: real[n, n]
B: real[n, n]
a: real
b: real
p: positive
q: random(mean=0, variance=1)
assume(p < 1)
"""

# text with the place marked, a part of the message, a part of the hint
NAMES = [
    ("§E: real", "'E' is a word of the language", "call it 'e'"),
    ("§pi = 3", "'pi' is a word of the language", "call it 'p'"),
    ("§sum[j] = z[j]", "'sum' is a word of the language", "call it"),
    ("§index = 1", "'index' is a word of the language", "call it 'i'"),
    ("def §at():\n    assert x == x", "'at' is a word of the language", "call it 'at_'"),
    ("def f(§E: real):\n    assert x == x", "'E' is a word of the language", "call it 'e'"),
    ("f = sum(x for §E in n)", "'E' is a word of the language", "call it 'e'"),
    ("§z: real", "'z' is already the variable of line 6", "another name"),
    ("§s = 2", "'s' is already the definition of line 14", "another name"),
    ("§n = 2", "'n' is already the axis of line 2", "another name"),
    ("f = 1\ndef §f():\n    assert x == x", "'f' is already the definition of line 16", "another name"),
    ("def f(§z: real):\n    assert z == z", "'z' would hide the variable of line 6", "differ from those of the file"),
    ("def f():\n    §s = 2\n    assert s == s", "'s' would hide the definition", "differ from those of the file"),
    ("def f(§g: real):\n    assert g == g\ng: real", "'g' would hide the name of line 18", "differ"),
    ("def f():\n    u = 1\n    §u = 2\n    assert u == u", "'u' is already the definition of line 17", "another name"),
    ("f = §a", "'a' is not declared", "`a: index[n]`"),
    ("f = §lable * 2", "'lable' is not declared", "did you mean 'label'"),
    ("f = §g\ng = 1", "'g' is used before line 17 declares it", "declared before it is used"),
    ("f = §f + 1", "'f' is defined by itself", "earlier names only"),
    ("f = §exp", "'exp' is a word of the language", "exp(x)"),
    ("def f():\n    assert x == x\ng = §f", "'f' is the theorem of line 16", "declared as"),
    ("§𝐱: real", "(U+1D431) cannot stand in a name", "ASCII or Greek"),
    ("§ж: real", "(U+0436) cannot stand in a name", "ASCII or Greek"),
    ("x§é: real", "(U+00E9) cannot stand in a name", "ASCII or Greek"),
    ("§lambda = 1", "'lambda' cannot stand here", "lambda_"),
    ("§lambda: real", "'lambda' is a word of Python's", "λ"),
]
DECLARING = [
    ("y: §reel", "'reel' is no kind", "did you mean 'real'"),
    ("y: §float", "'float' is no kind", "did you mean 'real'"),
    ("y: real[§3]", "3 is not a declared axis", "assume(n == 3)"),
    ("y: real[§k]", "k is not a declared axis", "declare `n: axis`"),
    ("y: real[§x]", "x is not a declared axis", "it is the variable of line 4"),
    ("y: §real[n][m]", "two pairs of brackets", "real[m, n]"),
    ("y: real = §2", "gives no value", "define it"),
    ("y: §axis[n]", "an axis has no axes", "n: axis"),
    ("y: §index", "an index runs over one axis", "i: index[n]"),
    ("y: §index[n, m]", "an index runs over one axis", "index[n][B]"),
    ("y: random(§0, 1)[n]", "random takes mean, variance", "mean=0, variance=1"),
    ("y: §random(mean=0)", "needs its variance", "mean=0, variance=1"),
    ("y: random(mean=0, §var=1)", "var is not a parameter", "mean=0, variance=1"),
    ("y: §normal[n]", "normal needs its parameters", "normal(0, 1)"),
    ("y: normal(0, §-1)", "a variance is not negative", "normal(0, 1)"),
    ("y: bernoulli(§2)", "between 0 and 1", "bernoulli(1/2)"),
    ("y: bernoulli(§3/2)", "between 0 and 1; this is 3/2", "bernoulli(1/2)"),
    ("y: uniform(1, §0)", "the interval is empty", "uniform(0, 1)"),
    ("y: §rademacher()", "no parentheses", "rademacher[n]"),
    ("y: normal(§noise, 1)", "'noise' rests on a random name", "E("),
    ("y[§j]: normal(0, 1)", "the letter 'j' runs", "`j: index[n]`"),
    ("§y[j]: real", "laws that vary", "z: real[n]"),
    ("y[j]: §normal(z[j], 1)[n]", "laws that vary", "random(mean=0, variance=1)[n]"),
    ("def f(§u: normal(0, 1)):\n    assert x == x", "a random name is declared at top level only", "above"),
    ("def f(§u: axis):\n    assert x == x", "an axis is declared at top level only", "above"),
]
LETTERS = [
    ("f = z[§j]", "the letter 'j' is free here", "s[j] = …"),
    ("f[i] = z[i] + z[§j]", "the letter 'j' is free here", "a sum must bind it"),
    ("f[§j] = 1", "no place says over which axis the letter 'j' runs", "`j: index[n]`"),
    ("f[j, §j] = z[j]", "stands twice on the left", "two letters"),
    ("f[§x] = 1", "'x' cannot be a letter: it is the variable of line 4", "another letter"),
    ("f[§1] = 1", "the left side carries letters", "s[i]"),
    ("f = sum(z[x] for §x in n)", "'x' cannot be a letter", "another letter"),
    ("f = sum(z[n] for §n in n)", "'n' cannot be a letter: it is the axis", "another letter"),
    ("f = sum(z[label] for §label in n)", "'label' cannot be a letter: it is the index", "another letter"),
    ("f = sum(z[u] for §u in n)\nu: real", "'u' cannot be a letter: line 17 declares it", "another letter"),
    ("f = sum(sum(z[k] for §k in n) for k in n)", "'k' is bound again inside its own scope", "another letter"),
    ("f = sum(z[k] for k in n for §k in n)", "'k' is bound again", "another letter"),
    ("f = sum(at(Z, z[§k], 1) for k in n)", "'k' is bound again", "another letter"),
    ("f = at(Z, z[§label], 1)", "'label' cannot be a letter", "another letter"),
    ("f = sum(z[§k] for k in m)", "k runs over 'm', but the subscript of 'z' runs over 'n'", "runs over 'n'"),
    ("assert W[j, i] * z[§j] == 0", "'j' runs over 'n' here, but over 'm' at line 16, column 10", "`j: index[m]`"),
    ("f[j] = W[j, label] * z[§j]", "'j' runs over 'n' here", "`j: index[m]`"),
    ("assert z[i] == §j", "'j' is not declared", "`j: index[n]`"),
    ("assume(§i != j)", "'i' is not declared", "`i: index[n]`"),
    ("assert delta(§i, j) == delta(j, i)", "'i' is not declared", "`i: index[n]`"),
    ("f = sum(1 for i in n for j in m if i == §j)", "an index of 'n' is compared with an index of 'm'", "one axis"),
    ("f = sum(delta(i, §j) for i in n for j in m)", "j runs over 'm'", "runs over 'n'"),
    (
        "def f():\n    assume(i != j)\n    assert z[i] + z[j] == 0\n    assert §W[i, label] + W[j, label] == 0",
        "'i' means 'n' in one claim",
        "different letters",
    ),
]
INDICES = [
    ("f = sum(z[§k + 1] for k in n)", "arithmetic as the subscript of 'z'", "if j < i"),
    ("f = sum(z[§k - 1] for k in n)", "arithmetic as the subscript", "never computed"),
    ("f = z[§-1]", "a negative number as the subscript", "from 0 to n - 1"),
    ("f = z[§0]", "a number as the subscript", "assume(z == [2, 1])"),
    ("f = z[§1:2]", "a slice", "z[k]"),
    ("f = z[§x]", "must be an index, but 'x' is the variable", "`i: index[n]`"),
    ("f = z[§count]", "must be an index, but 'count' is the variable", "`i: index[n]`"),
    ("f = z[§n]", "must be an index, but 'n' is the axis", "`i: index[n]`"),
    ("f = z[§s[label]]", "must be an index", "argmax"),
    ("f = t[§label]", "label runs over 'n', but the subscript of 't' runs over 'm'", "runs over 'm'"),
    ("f = delta(label, §x)", "must be an index", "`i: index[n]`"),
    ("f = §z", "'z' has one axis (n); here it has no subscripts", "z["),
    ("f = §W[label]", "'W' has 2 axes (m, n); here it has 1 subscript", "W["),
    ("f = §x[label]", "'x' has no axis", "write x"),
    ("f = §W[label][label]", "two pairs of brackets", "W[i, j]"),
    ("f = §(x + 1)[label]", "only a name has subscripts", "f[i]"),
    ("f = §n[label]", "has no entries", "write n"),
    ("f = §exp[label]", "'exp' takes no subscript", "exp(x)"),
    ("f = §argmax(W[j, k] for j in m for k in n)", "argmax gives one index", "argmax(x[k] for k in n)"),
]
BINDERS = [
    ("f = §sum(z)", "sum runs over an axis", "sum(x[k] for k in n)"),
    ("f = §sum([z[k] for k in n])", "sum runs over an axis", "sum(x[k] for k in n)"),
    ("f = sum(z[k] for k in §range(3))", "'k' must run over an axis", "n: axis"),
    ("f = sum(z[k] for k in §x)", "'k' must run over an axis", "n: axis"),
    ("f = sum(z[k] for §k, j in n)", "a loop binds one letter", "for i in n for j in m"),
    ("f = sum(z[k] for k in n if §z[k] > 0)", "a filter compares indices", "where(x[k] > 0"),
    ("f = sum(z[k] for k in n if k > §0)", "a filter compares indices", "if k != i"),
    ("f = sum(z[k] for k in n if §x)", "a filter compares indices", "mask[i, k]"),
    ("f = §max(x, x, x)", "max takes two numbers", "nest it"),
    ("f = §max(x)", "max runs over an axis", "max(a, b)"),
    (
        "f = sum(z[k] §for k in n, 2)".replace("§for", "for").replace("z[k]", "§z[k]"),
        "must be parenthesized",
        "nothing else",
    ),
]
CALCULUS = [
    ("f = §mean(z)", "there is no function 'mean'", "write sum(x[k] for k in n)/n"),
    ("f = §softmax(z)", "there is no function 'softmax'", "write exp(z[i])/sum(exp(z[k]) for k in n)"),
    ("f = §diff(x)", "diff takes an expression and the variables", "diff(expression, x)"),
    ("f = diff(x, §s[label])", "'s' is defined, not declared", "declared variable"),
    ("f = diff(x, §2)", "2 is no declared variable", "declared variable"),
    ("f = diff(x, §bits[label])", "'bits' is a bit", "`bits: real`"),
    ("f = diff(x, §count)", "'count' is an integer", "`count: real`"),
    ("f = diff(x, §y)", "'y' is not declared", "`y: real`"),
    ("f = diff(Z, §z)", "'z' has one axis", "z["),
    ("f = at(x, §s[k], 1)", "`at` replaces a declared variable", "at(expression"),
    ("f = at(x, z[§2], 1)", "a letter stands here", "at(expression"),
    ("f = at(x, §z, 1)", "'z' has one axis", "z["),
    ("f = at(x, §t[k], 1)", "`at` replaces a declared variable", "at(expression"),
    ("f = limit(x, x, 0, §1)", "from above or from below", '"+"'),
    ('f = limit(x, x, 0, §"left")', "from above or from below", '"-"'),
    ('f = limit(x, x, oo, §"+")', "infinity is approached from one side only", "leave"),
    ("f = limit(x, §z[label], oo)", "a limit is taken in a scalar", "scalar"),
    ("f = limit(x, x, §x)", "the point depends on 'x' itself", "number"),
    ("f = §oo", "oo is no number", "limit(e, T, oo)"),
    ("f = E(§x > 0)", "a condition stands where a number is expected", "where(condition, 1, 0)"),
    ("f = §Cov(x)", "Cov takes 2 arguments, not 1", "Cov(x, y)"),
    ("f = §where(x > 0, 1)", "where takes 3 arguments, not 2", "where(condition, a, b)"),
    ("f = where(§x, 1, 2)", "a condition is expected", "a == b"),
]
RANDOM = [
    ("assert §q[i] == 0", "'q' is random and stands outside", "E("),
    ("assert E(q[i]) == §q[i]", "'q' is random and stands outside", "E("),
    ("assert §noise == 0", "'noise' rests on a random name", "Var("),
    ("twice = noise + noise\nassert §twice == 0", "'twice' rests on a random name", "Var("),
    ("assume(§q[i] > 0)", "'q' is random and stands outside", "E("),
    ("assert sum(§q[i] for i in n) == 0", "'q' is random", "E("),
    ("assert at(x, §q[k], 1) == x", "'q' is random", "E("),
]
SYNTAX = [
    ("f = §x if p > 0 else 1", "a Python conditional", "where(condition, a, b)"),
    ("f = §x < 1", "a condition cannot be the value", "where(condition, 1, 0)"),
    ("f = (§x < 1) + 1", "a condition stands where a number", "where(condition, 1, 0)"),
    ("f = §not x", "a condition stands where a number", "where(condition, 1, 0)"),
    ("f = §all(z[k] > 0 for k in n)", "a condition stands where a number", "where(condition, 1, 0)"),
    ("f = §x ^ 2", "the operator ^", "a ** b"),
    ("f = §x // 2", "the operator //", "a / b"),
    ("f = §x @ x", "the operator @", "sum(A[i, k]"),
    ("f = §x % 2", "the operator %", "remainder"),
    ("f = §+x", "the sign +", "leave it out"),
    ("f = §~x", "the sign ~", "leave it out"),
    ("f = §[1, 2]", "a list cannot stand", "finite example"),
    ("f = §np.exp(x)", "a dotted name cannot be called", "exp(x)"),
    ("f = §x.real", "a dotted name cannot stand", "exp(x)"),
    ("f = §ln(x)", "no function 'ln'", "did you mean 'log'"),
    ("f = §sigmod(x)", "no function 'sigmod'", "did you mean 'sigmoid'"),
    ("f = §__import__(x)", "no function '__import__'", "exp"),
    ("f = §s(label)", "'s' is an array, not a function", "s["),
    ("f = §x(2)", "'x' is not a function", "with *"),
    ("f = §2(x)", "only the functions of the language", "exp"),
    ("f = §exp()", "exp takes 1 argument, not 0", "exp(x)"),
    ("f = §exp(x, x)", "exp takes 1 argument, not 2", "exp(x)"),
    ("f = exp(§x=1)", "exp takes no named arguments", "exp(x)"),
    ("f = exp(§*x)", "an unpacking", "one by one"),
    ('f = §"a"', "a text stands where a number", "captions"),
    ("f = §True", "True is not a number", "x > 0"),
    ("f = §None", "None is not a number", "x > 0"),
    ("f = §...", "... is not a number", "x > 0"),
    ("f = §2j", "2j is not a real number", "real numbers"),
    ("f = §0x10", "0x10 is not a decimal number", "decimal"),
    ("f = §1e999999999999", "more than 1,000 digits", "power"),
    ("f = §1e2000", "more than 1,000 digits", "power"),
    ("f = §" + "7" * 1001, "more than 1,000 digits", "power"),
    ("f = §" + "7" * 5000, "more than 1,000 digits", "power"),
    ("f = §lambda: 1", "a function cannot stand", "f[i] = …"),
    ('f = §f"{x}"', "a formatted text", "expression"),
    ("f = (§y := 2)", "an assignment", "line of its own"),
    ("f = §{1: 2}", "a dictionary", "expression"),
    ("f = §{1}", "a set", "expression"),
    ("f = §await x", "cannot stand", "expression"),
    ("f = x §− 1", "invalid character", "write -"),
    ("f = x §× 2", "invalid character", "write *"),
    ("assert x §≤ 3", "invalid character", "write <="),
    ("f = sum§(z[k] for k in n", "was never closed", None),
    ("f = z[j §for j in n]", "'for' cannot stand here", "sum(…)"),
    ("assert x §= 1", "invalid syntax", "a == b"),
    ("f = §2x", "invalid decimal literal", "2*x"),
    ("f = 2 §x", "invalid syntax", "2*x"),
    ("f = exp §x", "invalid syntax", "exp(x)"),
    ("f = exp(§2 x)", "invalid syntax", "2*x"),
    ("f = exp(§x p)", "invalid syntax", "2*x"),
    ("assert x §=> 1", "invalid syntax", "write >="),
    ("assert x §=< 1", "invalid syntax", "write <="),
    ("assert x §<> 1", "invalid syntax", "write !="),
    ("assert x > 1 &§& x < 2", "invalid syntax", "`and`"),
    ("assert x > 1 |§| x < 2", "invalid syntax", "`or`"),
    ("assert §!(x > 1)", "invalid syntax", "`not`"),
    ("assert §|x| >= 0", "invalid syntax", "abs(x)"),
    ("§f(x) = x**2", "cannot assign to function call", "at(f, x, 3)"),
    ("f = §e**x", "'e' is not declared", "exp(x)"),
    ("f = §ds/dx", "'ds' is not declared", "diff(f, x)"),
    ("f = sum(§softmax(z)[i] for i in n)", "there is no function 'softmax'", "exp(z[i])/sum"),
    ("f[i] = §softmax(z)[i]", "there is no function 'softmax'", "exp(z[i])/sum"),
    ("f[i] = §exp(z)[i]", "only a name has subscripts", "f[i] = …"),
    ("§a = b = 1", "one name is defined at a time", "two definitions"),
    ("§(a, b) = 1, 2", "only a name", "s[i] = …"),
    ("§z.shape = 2", "only a name", "s[i] = …"),
    ("§x += 1", "an update", "once"),
    ("§del x", "del is not in the language", "declarations"),
    ("§for k in n:\n    x", "a loop is not in the language", "sum"),
    ("§if x:\n    x", "an if statement", "where"),
    ("§class A:\n    x", "a class", "theorems"),
    ("§while x:\n    x", "a loop", "letters"),
    ("§async def f():\n    assert x == x", "an async function", "def name()"),
    ("§with x:\n    x", "with is not in the language", "claims"),
    ("§try:\n    x\nfinally:\n    x", "try is not in the language", "claims"),
    ("§global x", "global is not in the language", "claims"),
    ("§import os", "a plain import", "from softmax import"),
    ("§x == 1", "a comparison alone says nothing", "assert a == b"),
    ("§x + 1", "an expression alone says nothing", "claims"),
    ('§"a text"', "a text stands only at the beginning", "comment"),
    ("§print(x)", "an expression alone says nothing", "claims"),
]
CLAIMS = [
    ("assert §x", "a condition is expected here", "a == b"),
    ("assert x == 1, §x", "after a claim stands its caption", "by(theorem"),
    ('assert §(x == 1, "caption")', "in parentheses with its caption", "assert a == b, "),
    ("assert x is §1", "`is` compares nothing", "=="),
    ("assert 1 < x in §p", "`in` compares nothing", "=="),
    ("assert x == 1, §by()", "at least one earlier theorem", "by(theorem"),
    ("assert x == 1, by(§foo)", "there is no theorem 'foo'", "earlier theorems"),
    ("assert x == 1, by(§s)", "'s' is the definition of line 14, not a theorem", "earlier theorems"),
    ('assert x == 1, by(§"a", "b")', "by names earlier theorems, and a caption last", "by(theorem"),
    ("assert x == 1, by(§line_16)", "'line_16' leads back to itself", "earlier claims"),
    ("def f():\n    assert x == 1, by(§f)", "'f' leads back to itself", "earlier claims"),
    ("def f():\n    assert x == 1, by(§g)\ndef g():\n    assert x == 1", "'g' comes later, on line 18", "move it up"),
    ("assert x == 1, by(§E)", "there is no theorem 'E'", "earlier theorems"),
    ("assert x == 1; §assert x == 2", "already a 'line_16'", "one claim a line"),
    ("§assume(x > 0, x < 1)", "assume takes one condition", "several assumes"),
    ("§assume()", "assume takes one condition", "assume(x > 0)"),
    ("§assume(x=1)", "assume takes one condition", "an equation is x == 1"),
    ("assume(§x)", "a condition is expected", "a == b"),
    ("assert §assume(x > 0) == 1", "'assume' is no function", "assume(condition)"),
]
THEOREMS = [
    ("def §f():\n    assume(x > 0)", "the theorem 'f' claims nothing", "assert a == b"),
    ('def §f():\n    """Only words."""', "the theorem 'f' claims nothing", "assert a == b"),
    ("def f():\n    §pass", "pass is not in the language", "at least one claim"),
    ("def f():\n    §return 1", "a return is not in the language", "ends with its claims"),
    ("def f(§u):\n    assert u == 1", "the argument 'u' needs its kind", "u: real[n]"),
    ("def f(u: real = §1):\n    assert u == 1", "a default value", "assume"),
    ("def f(*§u: real):\n    assert x == 1", "plain variables", "def name("),
    ("def f(*, §u: real):\n    assert x == 1", "plain variables", "def name("),
    ("def f(§u: real, /):\n    assert x == 1", "plain variables", "def name("),
    ("def  §f():\n    assume(x > 0)", "the theorem 'f' claims nothing", "assert"),
    ("def f() -> §x:\n    assert x == 1", "returns nothing", "def name():"),
    ("@§x\ndef f():\n    assert x == 1", "a decorator", "leave it out"),
    ("def f():\n    assert x == 1\n    §assume(x > 0)", "a hypothesis after a claim", "before the first assert"),
    ("def f():\n    §u: real\n    assert x == u", "own variables are its arguments", "def name("),
    ("def f():\n    def §g():\n        assert x == 1", "a theorem inside a theorem", "top level"),
    ("def f():\n    §from softmax import vjp\n    assert x == 1", "an import inside a theorem", "top level"),
]
EXAMPLES = [
    ("assume(§z == [1, 2])", "a finite example belongs to a theorem", "def name()"),
    ("def f():\n    assume(z == [1, 2])\n    assert z[§2] == 1", "2 is out of range", "from 0 to 1"),
    ("def f():\n    assume(z == [1, 2])\n    assert W[§0, 0] == 1", "a number as subscript 1 of 'W'", "fixed the size"),
    ("def f():\n    assume(z == §[])\n    assert x == 1", "at least one index", "at least one entry"),
    ("def f():\n    assume(z == [§x, 1])\n    assert x == 1", "entries of a finite example are numbers", "1/2"),
    ("def f():\n    assume(z == [§[1], 1])\n    assert x == 1", "deeper than the array has axes", "one pair"),
    ("def f():\n    assume(W == [[1, 2], §[1]])\n    assert x == 1", "'n' has size 2 here", "equally long"),
    ("def f():\n    assume(W == [§1, 2])\n    assert x == 1", "a list over 'n' is expected", "[[1, 2], [3, 4]]"),
    ("def f():\n    assume(§q == [1, 2])\n    assert x == 1", "'q' is random", "law"),
    ("def f():\n    assume(§s == [1, 2])\n    assert x == 1", "sets a declared array", "z is declared"),
    ("def f():\n    assume(x == §[1])\n    assert x == 1", "'x' is a scalar", "assume(x == 2)"),
    ("def f():\n    assume(§z >= [1])\n    assert x == 1", "sets one array to a list", "z == [2, 1, 0]"),
    ("def f():\n    assume(§[1] == z)\n    assert x == 1", "sets one array to a list", "z == [2, 1, 0]"),
]
PROSE = [
    ('"""$§\\frac{1}{2}$"""', "would become another character", 'r"""'),
    ('"""A title.\n\n$x §\\times y$"""', "would become another character", 'r"""'),
]


def refusal(text: str) -> tuple[LanguageError, int, int]:
    """The error for the text, and the line and column of the mark."""
    before = text.split("§")[0]
    with pytest.raises(LanguageError) as caught:
        loads(text.replace("§", "", 1))
    return caught.value, before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [*NAMES, *DECLARING, *LETTERS, *INDICES, *BINDERS, *CALCULUS, *RANDOM, *SYNTAX, *CLAIMS, *THEOREMS, *EXAMPLES],
    ids=lambda value: value[:50] if isinstance(value, str) else None,
)
def test_a_refusal_says_what_where_and_what_would_be_right(text, message, hint):
    error, line, column = refusal(DECLARATIONS + text + "\n")

    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert hint is None or hint in (error.hint or "")


@pytest.mark.parametrize(("text", "message", "hint"), PROSE)
def test_prose_with_a_silent_escape_is_refused(text, message, hint):
    error, line, column = refusal(text)

    assert message in error.message
    assert (error.line, error.column) == (line, column)
    assert hint in error.hint


def test_an_error_is_shown_with_its_line_a_caret_and_a_hint():
    error, _, _ = refusal("n: axis\nz: real[n]\nZ = sum(exp(§y[k]) for k in n)\n")

    assert error.render().split("\n") == [
        "theory:3:13: 'y' is not declared, and no place says that it is an index letter",
        "  Z = sum(exp(y[k]) for k in n)",
        "              ^",
        "  hint: declare it: `y: real[n]`",
    ]


@pytest.mark.parametrize(("name", "text"), WRITTEN_OUT.items())
def test_what_a_hint_suggests_for_another_librarys_function_is_in_the_language(name, text):
    assert name not in CALLABLE
    first, _, random = text.partition("; of a random name, ")
    for written in filter(None, (first, random)):
        wrapped = f"E({written})" if "q" in written else written
        loads(HINTED.format(*2 * ["[n]" if "[" in written else ""]) + f"assert {wrapped} == {wrapped}\n")


def test_carets_span_the_place():
    error, _, _ = refusal("x: real\ny = 1 + §(x + 22) // 2\n")

    assert error.render().split("\n")[2] == "          ^^^^^^^^^^^^^"


def test_columns_count_characters_not_bytes():
    error, _, column = refusal("θθ: real\nβ = θθ * θθ + §γ\n")

    assert error.column == column == 15


def test_the_same_text_gives_the_same_error():
    texts = [refusal("x: real\ny = §ln(x)\n")[0].render() for _ in range(2)]

    assert texts[0] == texts[1]
