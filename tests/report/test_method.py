"""What the page of the method says of llama.cpp."""

from pathlib import Path

from tests.builders import a_run, scaled_case
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.pages.method import method

RECORDED = "hooks = c3523eec6dcb, commit = not recorded, changed = not recorded"
UPSTREAM = Path(__file__).parents[2] / "native" / "hooks" / "UPSTREAM"


def said(version: str | None, build: dict[str, str]) -> str:
    """The facts of llama.cpp that the page prints."""
    groups = method(Context(a_run(llama_cpp=dict(version=version, build=build)), scaled_case(1, 1)), Assets())["groups"]
    return " ".join(f"{fact.name} {fact.text}" for group in groups if group.key == "llama-cpp" for fact in group.facts)


def test_a_pinned_release_has_its_source_and_hash_once() -> None:
    pinned = dict(line.split(" = ") for line in UPSTREAM.read_text().splitlines())
    text = said(pinned["version"], {"build.hooked": RECORDED, "ggml.commit": "unknown", "ggml.version": "0.25.3"})
    assert text.count(pinned["sha256"]) == 1 and f"llama-cpp-python {pinned['version']}" in text
    assert "hooks = c3523eec6dcb" in text and "0.25.3" in text
    assert "not recorded" not in text and "unknown" not in text


def test_a_build_of_ones_own_has_its_commit_or_says_that_none_is_known() -> None:
    assert "commit = not recorded" in said("given", {"build.hooked": RECORDED})
    assert "commit = 0123abc" in said("given", {"build.hooked": "hooks = c, commit = 0123abc, changed = no"})
    assert "PyPI" not in said("given", {"build.hooked": RECORDED}) + said(None, {})
