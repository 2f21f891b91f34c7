"""What search is given: the tensors of a version, each name once, and never more than a site can carry."""

import json
from pathlib import Path

from tests.site_project import HOSTILE, LONG
from tracegen.publishing.bundle import Bundle
from tracegen.site import search as site_search

PARTS = (
    "attn_norm",
    "attn_q",
    "attn_k",
    "attn_v",
    "attn_output",
    "ffn_norm",
    "ffn_gate_inp",
    "ffn_gate_exps",
    "ffn_up_exps",
    "ffn_down_exps",
    "attn_q_norm",
    "attn_k_norm",
    "ffn_gate_shexp",
    "exp_probs_b",
)
NAMES = ["token_embd.weight", *(f"blk.{i}.{part}.weight" for i in range(61) for part in PARTS), "output.weight"]


def a_bundle(folder: Path, names: list[str]) -> Bundle:
    path = folder / "data/tables/tensors.csv"
    path.parent.mkdir(parents=True)
    path.write_text("tensor,name\n" + "".join(f'{i},"{n}"\n' for i, n in enumerate(names)), encoding="utf-8")
    return Bundle(folder, {"manifest": {"data/tables/tensors.csv": {}}, "pages": []})


def test_every_part_of_every_name_is_a_word() -> None:
    text = site_search.words(NAMES)
    assert text.startswith(f"{len(NAMES)} tensors: ")
    parts = set(text.replace(".", " ").replace(";", " ").split())
    assert {part for name in NAMES for part in name.split(".")} <= parts
    assert len(text) < 1000


def test_a_name_without_layers_stays_whole() -> None:
    assert site_search.words(["a.b", "a.b", "c"]) == "3 tensors: a.b c"


def test_names_that_want_to_be_code_or_have_no_end() -> None:
    document = site_search.document(
        "experiments/x/v1", "x@v1", [HOSTILE, *(f"{LONG}{i}" for i in range(50)), "last.weight"]
    )
    assert len(document["text"]) < site_search.LONGEST + 500
    assert "<script" not in document["text"] and "&lt;script&gt;" in document["text"]
    assert "last.weight" in document["text"] and "and 50 names for which there is no room" in document["text"]
    assert not set(document["text"]) & set("\x1b\x07\u202e\u2066\u2028")


def test_the_index_of_a_hundred_versions_is_below_a_megabyte(tmp_path: Path) -> None:
    """With a large model each, and what MkDocs holds of a version's five pages besides."""
    bundle = a_bundle(tmp_path / "bundle", NAMES)
    page = {"location": "x" * 60, "title": "x" * 30, "text": "x" * 120}
    index = tmp_path / "search_index.json"
    index.write_text(json.dumps({"config": {}, "docs": [page] * 500}))
    site_search.add_tensors(index, {f"experiments/e{i}/v1": (f"e{i}@v1", bundle) for i in range(100)})
    documents = json.loads(index.read_text())["docs"]
    assert len(documents) == 600
    assert documents[-1]["location"] == "experiments/e99/v1/appendix/index.html#tab-biggest-tensors"
    assert index.stat().st_size < 1_000_000
    index.write_text(json.dumps({"docs": []}))
    many = [f"a tensor of its own, number {i}" for i in range(100_000)]  # whatever the names are
    site_search.add_tensors(index, {str(i): (str(i), a_bundle(tmp_path / str(i), many)) for i in range(3)})
    assert index.stat().st_size / 3 < 10_000


def test_a_version_without_the_table_adds_nothing(tmp_path: Path) -> None:
    index = tmp_path / "search_index.json"
    index.write_text('{"docs":[]}')
    site_search.add_tensors(index, {"a": ("a@v1", Bundle(tmp_path, {"manifest": {}, "pages": []}))})
    assert json.loads(index.read_text()) == {"docs": []}


def test_the_search_dialog_has_a_name_once() -> None:
    page = '<div data-md-component="search" role="dialog"><p>'
    assert site_search.named(page) == '<div data-md-component="search" role="dialog" aria-label="Search"><p>'
    assert site_search.named(site_search.named(page)) == site_search.named(page)
    assert site_search.named("<p>") == "<p>"
