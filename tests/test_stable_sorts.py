"""Which of equal values comes first does not depend on the processor: sorts that do not say so are not stable.

NumPy sorts and partitions with other instructions where a processor has them, and so in another order. With several
keys pandas sorts by one after the other, stably.
"""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "generator" / "tracegen"
# Partitions of random numbers, of which no two are equal; sorts of what is the same number.
WITHOUT_TIES = {"analysis/routing.py": {"argpartition"}}


def _is_stable(call: ast.Call) -> bool:
    return any(
        word.arg == "kind" and isinstance(word.value, ast.Constant) and word.value.value == "stable"
        for word in call.keywords
    )


def _one_key(call: ast.Call) -> bool:
    """Whether it sorts by a single key that stands here, or by the values of a series."""
    by = call.args[0] if call.args else next((word.value for word in call.keywords if word.arg == "by"), None)
    return by is None or isinstance(by, ast.Constant)


def unstable(path: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            sorts = name in ("argsort", "argpartition") or (name == "sort_values" and _one_key(node))
            if sorts and not _is_stable(node):
                found.append((node.lineno, name))
    return found


def test_sorts_are_stable() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        wrong += [f"{name}:{n}: {of}" for n, of in unstable(path) if of not in WITHOUT_TIES.get(name, set())]
    assert not wrong, "\n".join(wrong)
