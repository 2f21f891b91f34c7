"""Hooks go in whole or not at all, once, and come out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracegen.capture.hooks import Hook, apply_hooks, hook_tree, read_hooks, remove_hooks
from tracegen.errors import SettingsError
from tracegen.resources import folder

TEXT = """int before(void) {
    return 0;
}

int compute(int n) {
    for (int i = 0;  i < n; i++) {
        work(i);
    }
    return 0;
}
"""
HOOKS = (
    Hook("a.c", "work(i);", "BEGIN(i);", after=False, within="int compute(int n) {"),
    Hook("a.c", "work(i);", "END(i);", after=True, within="int compute(int n) {"),
    Hook("a.c", "return 0;", "DONE();", after=False, within="int compute("),
)


def test_lines_go_beside_their_anchor_with_its_indent() -> None:
    made = apply_hooks("a.c", TEXT, HOOKS)
    assert "        BEGIN(i);\n        work(i);\n        END(i);\n    }\n    DONE();\n    return 0;\n" in made
    assert made.count("DONE") == 1 and made.index("DONE") > made.index("compute")


def test_removing_gives_the_text_back() -> None:
    assert remove_hooks("a.c", apply_hooks("a.c", TEXT, HOOKS), HOOKS) == TEXT


def test_runs_of_space_do_not_matter() -> None:
    hook = Hook("a.c", "for (int i = 0; i < n; i++) {", "LOOP();", after=False)
    assert "    LOOP();\n    for" in apply_hooks("a.c", TEXT, [hook])


@pytest.mark.parametrize(
    ("hook", "missing"),
    [
        (Hook("a.c", "not here;", "X();", after=True), "not here;"),
        (Hook("a.c", "work(i);", "X();", after=True, within="int other("), "int other("),
        (Hook("a.c", "int before(void) {", "X();", after=True, within="int compute("), "int before(void) {"),
    ],
)
def test_a_missing_anchor_names_file_and_text(hook: Hook, missing: str) -> None:
    with pytest.raises(SettingsError, match=r"a\.c") as caught:
        apply_hooks("a.c", TEXT, [hook])
    assert missing in str(caught.value)


def tree_for(native: Path, at: Path) -> Path:
    """A tree that has every anchor of the real hooks and nothing else."""
    lines: dict[str, list[str]] = {}
    for hook in read_hooks(native / "hooks" / "llama-cpp.toml"):
        lines.setdefault(hook.file, []).extend(filter(None, (hook.within, hook.anchor)))
    for name, content in lines.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_text("\n".join(content) + "\n")
    return at


def test_a_tree_is_hooked_once(tmp_path: Path) -> None:
    native = folder("native")
    tree = tree_for(native, tmp_path)
    before = {path: path.read_text() for path in tree.rglob("*") if path.is_file()}
    changed = hook_tree(tree, native)
    assert set(changed) == {path.relative_to(tree).as_posix() for path in before}
    assert (tree / "ggml/include/tensor_trace.h").is_file() and (tree / "ggml/src/tensor-trace/writer.c").is_file()
    assert hook_tree(tree, native) == ()


def test_one_missing_anchor_leaves_the_tree_as_it_was(tmp_path: Path) -> None:
    native = folder("native")
    tree = tree_for(native, tmp_path)
    (tree / "src/llama-context.cpp").write_text("nothing\n")
    before = {path: path.read_text() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(SettingsError, match=r"src/llama-context\.cpp"):
        hook_tree(tree, native)
    assert {path: path.read_text() for path in tree.rglob("*") if path.is_file()} == before


def test_no_llama_cpp_at_all(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no llama\.cpp source tree"):
        hook_tree(tmp_path, folder("native"))
