"""TRY returns from within an expression. In a braced list, compilers do not destroy the elements before it."""

import re

from support.tree import text_of, tracked

QUIET = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
BODY = re.compile(r"([;{})]|\b(else|do|try|const|noexcept|override|mutable)|->[^;{}()]*>)$")  # before the brace of a body


def leaks(text):
    """Lines with a TRY that follows another element of the same braced list, directly or within brackets."""
    code = QUIET.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in re.finditer(r"\bTRY\(", code):
        depth, behind = 0, False
        for at in range(found.start() - 1, -1, -1):
            c = code[at]
            if c in ")}]":
                depth += 1
            elif depth > 0:
                depth -= c in "({["
            elif c == ";" or (c == "{" and BODY.search(code[:at].rstrip()[-200:])):
                break
            elif c == ",":
                behind = True
            elif c == "{" and behind:
                yield code.count("\n", 0, found.start()) + 1
                break
            elif c in "({[":
                behind = False


def test_try_never_follows_another_element_of_a_braced_list():
    places = [f"{path}:{line}" for path in tracked() if path.endswith((".cpp", ".hpp")) for line in leaks(text_of(path))]
    assert places == [], "name the result before the braced list"


def test_a_leak_is_found():
    assert list(leaks("f() {\n  return Rule{name,\n TRY(made())};\n}")) == [3]
    assert list(leaks("f() {\n  rules.push_back({1, g(TRY(made()))});\n}")) == [2]
    assert list(leaks("f() const {\n  g(a, TRY(made()));\n  return A{TRY(b()), c};\n}")) == []
    assert list(leaks("f(a, b) -> Result<X> {\n  TRY(made());\n}")) == []
