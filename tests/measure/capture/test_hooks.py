"""Hooks are inserted all or none, only once, and removed without a trace."""

import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegen.cli import main as cli
from tracegen.contract.details import DETAILS, in_words
from tracegen.contract.errors import EnvironmentFailure, SettingsError
from tracegen.measure.capture import hooked_tree
from tracegen.measure.capture.hook_record import parse_record
from tracegen.measure.capture.hooked_tree import HEADER, RECORD, SOURCES, carry_out, hook_tree, plan_hooks, plan_reverse
from tracegen.measure.capture.hooks import Hook, apply_hooks, fitting, parse_hooks, remove_hooks
from tracegen.measure.capture.llama_cpp import build_tree, has_load_mode
from tracegen.storing.progress import Progress
from tracegen.storing.resources import folder

NATIVE = folder("native")
LISTED = parse_hooks((NATIVE / "hooks" / "llama-cpp.toml").read_text(encoding="utf-8"))
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
COMPUTE = "int compute(int n) {"
HOOKS = (
    Hook("a.c", ("work(i);",), "BEGIN(i);", after=False, within=COMPUTE),
    Hook("a.c", ("work(i);",), "END(i);", after=True, within=COMPUTE),
    Hook("a.c", ("return 0;",), "DONE();", after=False, within="int compute("),
)
SAID_AT = "src/llama-context.cpp"


def test_lines_go_beside_their_anchor_with_its_indent() -> None:
    hooked = apply_hooks("a.c", TEXT, HOOKS)
    assert "        BEGIN(i);\n        work(i);\n        END(i);\n    }\n    DONE();\n    return 0;\n" in hooked
    assert hooked.count("DONE") == 1 and hooked.index("DONE") > hooked.index("compute")


@pytest.mark.parametrize(
    "change", [str, lambda t: t.replace("\n", "\r\n"), lambda t: t.rstrip("\n"), lambda t: t + "é"]
)
def test_removing_gives_the_text_back(change: Callable[[str], str]) -> None:
    text = change(TEXT)
    hooked = apply_hooks("a.c", text, HOOKS)
    assert remove_hooks("a.c", hooked, HOOKS) == text and ("\r\n" in text) == ("BEGIN(i);\r\n" in hooked)


def test_the_first_alternative_that_is_there_counts_and_runs_of_space_do_not() -> None:
    hook = Hook("a.c", ("newest(i);", "for (int i = 0; i < n; i++) {", "return 0;"), "LOOP();", after=False)
    assert "    LOOP();\n    for" in apply_hooks("a.c", TEXT, [hook])


@pytest.mark.parametrize(
    ("hook", "missing"),
    [
        (Hook("a.c", ("not here;",), "X();", after=True), "not here;"),
        (Hook("a.c", ("not here;", "nor here;"), "X();", after=True), "'not here;' or 'nor here;'"),
        (Hook("a.c", ("work(i);",), "X();", after=True, within="int other("), "int other("),
        (Hook("a.c", ("int before(void) {",), "X();", after=True, within="int compute("), "int before(void) {"),
    ],
)
def test_a_missing_anchor_names_file_and_text(hook: Hook, missing: str) -> None:
    with pytest.raises(SettingsError, match=r"a\.c") as caught:
        apply_hooks("a.c", TEXT, [hook])
    assert missing in str(caught.value)


def test_a_line_of_ours_that_is_there_already_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"a\.c:4: holds 'DONE\(\);' already"):
        apply_hooks("a.c", TEXT.replace("\n\n", "\nDONE();\n"), HOOKS)


@pytest.mark.parametrize("text", ["not = a list", "[[hook]]\nfile = 'a'\n", "[[hook"])
def test_a_broken_list_is_said_to_be_one(text: str) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        parse_hooks(text)


def tree_for(at: Path, which: int = 0, end: str = "\n") -> Path:
    """A tree with nothing but the anchors of the real hooks; of alternative anchors it has number `which`."""
    lines: dict[str, list[str]] = {}
    for hook in LISTED:
        anchor = hook.anchors[min(which, len(hook.anchors) - 1)]
        lines.setdefault(hook.file, []).extend(filter(None, (hook.within, f"  {anchor}")))
    for name, content in lines.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(end.join([*content, ""]).encode())
    (at / "CMakeLists.txt").write_text("project(llama.cpp)\n")
    (at / "ggml/include").mkdir(exist_ok=True)
    return at


def content_of(tree: Path) -> dict[str, bytes]:
    files = (path for path in tree.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return tree_for(tmp_path / "llama.cpp")


def says(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    """Exit code and output of `tracegen llama-cpp`."""
    code = cli.main(["llama-cpp", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def test_the_docs_list_each_detail() -> None:
    text = " ".join((NATIVE.parent / "docs/llama-cpp.md").read_text(encoding="utf-8").split())
    assert f"may be missing: {', '.join(DETAILS.values())}." in text


def test_each_hook_of_a_detail_names_one_that_there_is() -> None:
    assert {hook.detail for hook in LISTED} == {"", *DETAILS}


@pytest.mark.parametrize("hook", [hook for hook in LISTED if hook.detail], ids=lambda hook: hook.insert[:40])
def test_a_detail_that_does_not_fit_is_left_out_whole(
    tree: Path, hook: Hook, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hooks of a detail go together: half of them would be wrong. All others are inserted."""
    text = (tree / hook.file).read_text()
    anchors = {" ".join(anchor.split()) for anchor in hook.anchors}
    lines = [line for line in text.splitlines() if " ".join(line.split()) not in anchors]
    (tree / hook.file).write_text("\n".join([*lines, ""]))
    before = content_of(tree)
    lost = {of.detail for of in LISTED if of.file == hook.file and anchors & {" ".join(a.split()) for a in of.anchors}}
    code, output = says(capsys, "hook", tree)
    assert code == 0 and all(f"  not recorded: {in_words((of,))}: {hook.file}: " in output for of in lost)
    for of in LISTED:
        assert (of.insert.strip() in (tree / of.file).read_text()) == (of.detail not in lost), of
    record = parse_record(tree / RECORD, (tree / RECORD).read_bytes())
    assert set(record.without) == lost
    code, output = says(capsys, "hook", tree, "--check")
    assert code == 0 and output.count("not recorded: ") == len(lost)
    (tree / hook.file).write_text(text)
    assert plan_hooks(tree, NATIVE).state == "hooked in part"
    hook_tree(tree, NATIVE)
    assert parse_record(tree / RECORD, (tree / RECORD).read_bytes()).without == ()
    carry_out(plan_reverse(tree))
    assert {**content_of(tree), hook.file: b""} == {**before, hook.file: b""}


def test_a_detail_that_does_not_fit_any_more_is_not_hooked_whole(tree: Path) -> None:
    """A merge may take an anchor away with our line beside it: what is recorded would not be what HOOKED says."""
    hook_tree(tree, NATIVE)
    (read,) = (hook for hook in LISTED if hook.detail == "reads" and not hook.where_there)
    text = (tree / read.file).read_text().splitlines()
    gone = {read.insert.strip(), *read.anchors}
    (tree / read.file).write_text("\n".join([*(line for line in text if line.strip() not in gone), ""]))
    plan = plan_hooks(tree, NATIVE)
    assert plan.state == "hooked in part" and set(plan.without) == {"reads"}
    hook_tree(tree, NATIVE)
    assert parse_record(tree / RECORD, (tree / RECORD).read_bytes()).without == ("reads",)


def test_a_line_of_the_users_that_is_a_hook_which_does_not_fit_stays(tree: Path) -> None:
    (sampled,) = (hook for hook in LISTED if hook.insert.startswith("TENSOR_TRACE_SAMPLED"))
    (tree / sampled.file).write_text(f"{sampled.insert}\n")
    before = content_of(tree)
    assert set(hook_tree(tree, NATIVE).without) == {"sampled"}
    carry_out(plan_reverse(tree))
    assert content_of(tree) == before


def test_a_llama_cpp_without_that_program_is_hooked_without_its_tokens(tree: Path) -> None:
    shutil.rmtree(tree / "tools/completion")
    assert set(hook_tree(tree, NATIVE).without) == {"sampled"}


def other_hooks(at: Path) -> Path:
    """The native folder of another version: it lacks a source, and has one changed and one additional hook."""
    for part in ("include", "core", "ggml", "hooks"):
        (at / part).mkdir(parents=True)
        for path in (NATIVE / part).iterdir():
            (at / part / path.name).write_bytes(path.read_bytes())
    (at / "core" / "map.c").unlink()
    listed = at / "hooks" / "llama-cpp.toml"
    text = listed.read_text().replace("TENSOR_TRACE_LOAD_END();", "TENSOR_TRACE_LOADED();")
    listed.write_text(text + f'\n[[hook]]\nfile = "{SAID_AT}"\nafter = "tail"\ninsert = "OTHER();"\n')
    return at


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_tree_comes_back_byte_for_byte(tmp_path: Path, which: int, end: str) -> None:
    tree = tree_for(tmp_path, which, end)
    (tree / "src/llama.cpp").write_bytes((tree / "src/llama.cpp").read_bytes() + b"\xff no UTF-8, no last newline")
    (tree / "src/llama.cpp").chmod(0o755)
    before = content_of(tree)
    plan = hook_tree(tree, NATIVE)
    assert {change.file for change in plan.net() if not change.own} == set(before) - {"CMakeLists.txt"}
    assert (tree / HEADER).is_file() and (tree / SOURCES / "writer.c").is_file()
    assert (tree / "src/llama.cpp").stat().st_mode & 0o777 == 0o755
    hooked = content_of(tree)
    assert hook_tree(tree, NATIVE).changes == () and content_of(tree) == hooked
    carry_out(plan_reverse(tree))
    assert content_of(tree) == before and not (tree / SOURCES).exists()


def test_what_the_user_changes_meanwhile_stays(tree: Path) -> None:
    hook_tree(tree, NATIVE)
    file = tree / SAID_AT
    file.write_text(file.read_text() + "mine\n")
    (tree / SOURCES / "notes.txt").write_text("mine\n")
    carry_out(plan_reverse(tree))
    assert file.read_text().endswith("mine\n") and "TENSOR_TRACE" not in file.read_text()
    assert [path.name for path in (tree / SOURCES).iterdir()] == ["notes.txt"]


def test_hooks_of_another_version_are_replaced_and_undone(tree: Path, tmp_path: Path) -> None:
    (tree / SAID_AT).write_text((tree / SAID_AT).read_text() + "tail\n")
    before = content_of(tree)
    older = other_hooks(tmp_path / "other")
    hook_tree(tree, older)
    assert b"OTHER();" in content_of(tree)[SAID_AT] and plan_hooks(tree, NATIVE).state == "hooked by other hooks"
    assert content_of(tree)[SAID_AT].count(b"OTHER") == 1
    hook_tree(tree, NATIVE)
    assert b"OTHER();" not in content_of(tree)[SAID_AT] and (tree / SOURCES / "map.c").exists()
    assert plan_hooks(tree, NATIVE).state == "hooked"
    hook_tree(tree, older)
    assert not (tree / SOURCES / "map.c").exists()
    carry_out(plan_reverse(tree))
    assert content_of(tree) == before


def test_check_says_how_a_tree_stands(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content_of(tree)
    code, output = says(capsys, "hook", tree, "--check")
    assert (code, output.splitlines()[0]) == (1, f"{tree}: not hooked, and can be")
    hooks = tomllib.loads((NATIVE / "hooks" / "llama-cpp.toml").read_text())["hook"]
    n = sum(hook["file"] == SAID_AT for hook in hooks)
    assert f"  would change: {SAID_AT} (+{n} lines)\n" in output and content_of(tree) == before
    code, output = says(capsys, "hook", tree)
    assert code == 0 and "cmake -B build -DGGML_TENSOR_TRACE=ON" in output and f"--source {tree}" in output
    code, output = says(capsys, "hook", tree, "--check")
    assert code == 0 and output.startswith(f"{tree}: hooked (hooks ") and "would change" not in output
    (tree / SAID_AT).write_bytes(before[SAID_AT])
    code, output = says(capsys, "hook", tree, "--check")
    assert code == 1 and output.startswith(f"{tree}: hooked in part (") and output.count("would change") == 1
    assert says(capsys, "hook", tree)[0] == 0 and says(capsys, "hook", tree, "--check")[0] == 0
    assert says(capsys, "hook", tree, "--reverse")[0] == 0
    code, output = says(capsys, "hook", tree, "--reverse")
    assert code == 2 and f"is not hooked (it has no {RECORD})" in output
    (tree / SAID_AT).write_text("nothing\n")
    code, output = says(capsys, "hook", tree, "--check")
    assert code == 2 and f"{tree}: cannot be hooked: {SAID_AT}: the line" in output


@pytest.mark.parametrize(
    "arguments",
    [["hook"], ["build", "x"], ["build", "--check"], ["hook", "x", "--plain"], ["hook", "x", "--source", "y"]],
)
def test_options_that_do_not_go_together_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert says(capsys, *arguments)[0] == 2


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("n", [0, 8, 25])
def test_a_write_that_fails_leaves_the_tree_as_it_was(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, hooked: bool
) -> None:
    if hooked:  # then it is other hooks that are replaced
        (tree / SAID_AT).write_text((tree / SAID_AT).read_text() + "tail\n")
        hook_tree(tree, other_hooks(tmp_path / "other"))
    before = content_of(tree)
    plan = plan_hooks(tree, NATIVE)
    n = min(n, len(plan.changes) - 1)
    write, written = hooked_tree._write, []

    def failing(path: Path, content: bytes | None) -> None:
        written.append(path)
        if len(written) == n + 1:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(hooked_tree, "_write", failing)
    with pytest.raises(EnvironmentFailure, match=r"No space left on device\); the tree is as it was"):
        carry_out(plan)
    assert content_of(tree) == before and (tree / SOURCES).exists() == hooked


@pytest.mark.parametrize("n", range(0, 60, 6))
def test_hooking_cut_at_any_file_can_be_done_again_or_undone(tree: Path, tmp_path: Path, n: int) -> None:
    """A killed process leaves the files that it has written."""
    (tree / SAID_AT).write_text((tree / SAID_AT).read_text() + "tail\n")
    before = content_of(tree)
    hook_tree(tree, other_hooks(tmp_path / "other"))
    plan = plan_hooks(tree, NATIVE)
    for change in plan.changes[:n]:
        hooked_tree._write(tree / change.file, change.after)
    if (tree / RECORD).exists():
        carry_out(plan_reverse(tree))
        assert content_of(tree) == before
    hook_tree(tree, NATIVE)
    assert plan_hooks(tree, NATIVE).state == "hooked"
    carry_out(plan_reverse(tree))
    assert content_of(tree) == before


def replaced(path: Path, target: Path) -> None:
    """Move what lies there away, and leave a link to it."""
    path.rename(target)
    path.symlink_to(target)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (lambda tree: replaced(tree / SAID_AT, tree / "elsewhere.cpp"), "is a symbolic link"),
    "linked folder": (lambda tree: replaced(tree / "common", tree.parent / "common"), "is a symbolic link"),
    "read-only file": (lambda tree: (tree / SAID_AT).chmod(0o444), "is read-only"),
    "read-only folder": (lambda tree: (tree / "src").chmod(0o555), "is read-only"),
    "header of another": (lambda tree: (tree / HEADER).write_text("/* mine */\n"), "tracegen did not write it"),
    "hooked by hand": (
        lambda tree: (tree / SAID_AT).write_text((tree / SAID_AT).read_text() + '#include "tensor_trace.h"\n'),
        "tensor_trace.h\"' already",
    ),
    "file missing": (lambda tree: (tree / SAID_AT).unlink(), "is missing"),
    "anchor missing": (lambda tree: (tree / SAID_AT).write_text("nothing\n"), f"{SAID_AT}: the line"),
    "folder for a file": (lambda tree: ((tree / SAID_AT).unlink(), (tree / SAID_AT).mkdir()), "cannot be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(tree: Path, case: str) -> None:
    spoil, reason = REFUSED[case]
    spoil(tree)
    before = content_of(tree)
    with pytest.raises(SettingsError, match=reason):
        hook_tree(tree, NATIVE)
    assert content_of(tree) == before
    (tree / "src").chmod(0o755)


def without_llama(tree: Path) -> Path:
    """Turn the tree into one like whisper.cpp: a ggml, and a `src` with its own CMakeLists.txt."""
    for name in ("src", "common", "tools"):
        shutil.rmtree(tree / name)
    (tree / "src").mkdir()
    (tree / "src/CMakeLists.txt").write_text("target_link_libraries(whisper PUBLIC ggml)\n")
    return tree


def test_a_tree_with_ggml_alone_takes_the_hooks_of_ggml(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = content_of(without_llama(tree))
    code, output = says(capsys, "hook", tree, "--check")
    assert code == 1 and "and can be; it has a ggml but no llama.cpp" in output and "src/CMakeLists.txt" not in output
    code, output = says(capsys, "hook", tree)
    assert code == 0 and "tracegen exec NAME" in output and "--target PROGRAM" in output
    changed = {file for file, content in content_of(tree).items() if file in before and content != before[file]}
    assert changed == {file for file in before if file.startswith("ggml/")}
    assert says(capsys, "hook", tree, "--check")[0] == 0
    assert says(capsys, "hook", tree, "--reverse")[0] == 0 and content_of(tree) == before


def test_a_missing_anchor_of_ggml_alone_names_file_and_text(tree: Path) -> None:
    file = without_llama(tree) / "ggml/src/ggml-backend.cpp"
    file.write_text(file.read_text().replace("buffer->usage = usage;", "buffer->use = usage;"))
    before = content_of(tree)
    with pytest.raises(SettingsError, match=r"ggml-backend\.cpp: the line 'buffer->usage = usage;' is missing"):
        hook_tree(tree, NATIVE)
    assert content_of(tree) == before


@pytest.mark.parametrize("trace_of_llama", ["include/llama.h", "src/llama.cpp", "common/common.cpp"])
def test_a_llama_cpp_that_lacks_files_is_no_ggml_alone(tree: Path, trace_of_llama: str) -> None:
    file = without_llama(tree) / trace_of_llama
    file.parent.mkdir(exist_ok=True)
    file.write_text('#include "llama.h"\n')
    before = content_of(tree)
    with pytest.raises(SettingsError, match=r"is missing"):
        hook_tree(tree, NATIVE)
    assert content_of(tree) == before


def test_a_tree_that_becomes_llama_cpp_is_hooked_in_part(tmp_path: Path) -> None:
    whole, tree = tree_for(tmp_path / "whole"), without_llama(tree_for(tmp_path / "tree"))
    hook_tree(tree, NATIVE)
    shutil.copytree(whole, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("ggml"))
    assert plan_hooks(tree, NATIVE).state == "hooked in part"
    hook_tree(tree, NATIVE)
    assert plan_hooks(tree, NATIVE).state == "hooked"
    carry_out(plan_reverse(tree))
    assert content_of(tree) == content_of(whole)


def test_a_tracer_that_was_changed_in_the_tree_is_not_lost(tree: Path) -> None:
    hook_tree(tree, NATIVE)
    (tree / SOURCES / "trace.c").write_text("/* better */\n")
    for plan in (lambda: plan_hooks(tree, NATIVE), lambda: plan_reverse(tree)):
        with pytest.raises(SettingsError, match=r"trace\.c: has changed since tracegen wrote it"):
            plan()


def test_a_list_that_leads_outside_is_refused(tree: Path, tmp_path: Path) -> None:
    native = other_hooks(tmp_path / "other")
    for place in ("../x", "/etc/x"):
        (native / "hooks" / "llama-cpp.toml").write_text(f'[[hook]]\nfile = "{place}"\nafter = "a"\ninsert = "b"\n')
        with pytest.raises(SettingsError, match="lies outside the tree"):
            plan_hooks(tree, native)


def test_a_broken_record(tree: Path) -> None:
    hook_tree(tree, NATIVE)
    (tree / RECORD).write_text("tracegen = 1\n")
    with pytest.raises(SettingsError, match="lacks 'hooks'"):
        plan_hooks(tree, NATIVE)


def test_no_llama_cpp_at_all(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"not a source tree of llama\.cpp"):
        hook_tree(tmp_path, NATIVE)
    with pytest.raises(SettingsError, match="is not a folder"):
        hook_tree(tmp_path / "nothing", NATIVE)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_record_says_which_commit(tree: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(tree), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def recorded() -> tuple[str, str]:
        record = plan_hooks(tree, NATIVE).record
        assert record is not None
        return record.commit, record.changed

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "llama.cpp")
    commit = git("rev-parse", "HEAD")
    hook_tree(tree, NATIVE)
    assert recorded() == (commit, "no")
    git("checkout", "--", SAID_AT)  # hooked again: the hooks are no change
    hook_tree(tree, NATIVE)
    assert recorded() == (commit, "no")
    carry_out(plan_reverse(tree))
    assert git("status", "--porcelain") == ""
    (tree / SAID_AT).write_text((tree / SAID_AT).read_text() + "mine\n")
    hook_tree(tree, NATIVE)
    assert recorded() == (commit, "yes")


def test_a_tree_without_git_is_said_to_be(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    hook_tree(tree, NATIVE)
    assert "commit = not recorded\nchanged = not recorded\n" in (tree / RECORD).read_text()


def test_only_a_hooked_tree_is_built(tree: Path) -> None:
    with pytest.raises(SettingsError, match="is not hooked; first: tracegen llama-cpp hook"):
        build_tree(tree, Progress())


@pytest.mark.parametrize(
    ("program", "library", "expected"),
    [(b"", b"--load-mode", True), (b"--no-mmap", None, False), (b"", b"--no-mmap", False), (b"#!/bin/sh", None, True)],
)
def test_which_option_a_program_has(tmp_path: Path, program: bytes, library: bytes | None, expected: bool) -> None:
    (tmp_path / "llama-completion").write_bytes(program)
    if library is not None:
        (tmp_path / "libllama-common.so").write_bytes(library)
    assert has_load_mode(tmp_path / "llama-completion") is expected


def test_a_hook_for_what_a_release_does_not_do_is_not_missed() -> None:
    asked = Hook(
        "a.c", ("ask();",), "ASKS();", after=False, within="void ahead(int n) {", detail="reads", where_there=True
    )
    assert fitting({"a.c": TEXT}, [*HOOKS, asked]) == (HOOKS, {})
    does = TEXT + "\nvoid  ahead(int n) {\n    ask();\n}\n"
    assert fitting({"a.c": does}, [*HOOKS, asked]) == ((*HOOKS, asked), {})
    assert "reads" in fitting({"a.c": does.replace("ask();", "other();")}, [*HOOKS, asked])[1]
    assert fitting({"a.c": None}, [asked]) == ((), {})
