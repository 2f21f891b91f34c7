"""Figures of accesses and caches, of runs with next to nothing on them: a reason, never a zero like a finding."""

import re

import pandas as pd
import pytest

from tests.builders import a_moe_run, scaled_case
from tracegen.analysis import reuse
from tracegen.analysis.accesses import ranges
from tracegen.report.document.amount import in_words
from tracegen.report.figures.catalogue import FIGURES
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.findings.found import findings

Tables = dict[str, pd.DataFrame]
MOE = scaled_case(3, 2, moe=True)


def contents(tables: Tables) -> dict[str, Content | Rows]:
    """The content of each such figure and table that the run has."""
    context = Context(a_moe_run(), tables)
    own = [part for part in FIGURES if part.section in ("order", "cache") and part.when.holds(context)]
    return {part.key: part.content(context) for part in own}


def in_place(of: Content | Rows) -> str:
    """What stands in place of a figure or table; empty if it is shown."""
    return of.empty if isinstance(of, Content) or not of.rows else ""


def test_without_access_to_a_mapped_file_nothing_is_counted() -> None:
    placements = MOE["placements"]
    in_buffers = placements.assign(
        memory="buffer", buffer_id=1, buffer_offset=0, tensor=pd.NA, file=pd.NA, origin_offset=pd.NA
    ).astype(placements.dtypes.to_dict())
    for bare in (
        MOE | {"placements": in_buffers},
        MOE | {name: MOE[name].iloc[:0] for name in ("files", "tensors")} | {"placements": in_buffers},
    ):
        shown = contents(bare)
        hot, placed = shown.pop("hot-experts"), shown.pop("device-memory")
        assert in_place(placed) == ("" if len(bare["tensors"]) else "The trace names no model file.")
        assert in_place(hot).startswith("3 tokens: too few")
        for key, of in shown.items():
            assert "No operation" in in_place(of) or "no model file" in in_place(of).lower(), (key, in_place(of))
        subjects = {finding.part.key for finding in findings(Context(a_moe_run(), bare))}
        assert not subjects & {"access-reads", "what-if-orders", "working-set"}


def test_copied_weights_are_no_access_to_the_file() -> None:
    placements = MOE["placements"]
    mapped = (placements["memory"] == "disk").to_numpy(bool)
    copied = placements.assign(
        memory=placements["memory"].astype("object").mask(mapped, "copied"),
        buffer_id=placements["buffer_id"].mask(mapped, 1),
        buffer_offset=placements["buffer_offset"].mask(mapped, placements["origin_offset"]),
    ).astype(placements.dtypes.to_dict())
    for key, of in contents(MOE | {"placements": copied}).items():
        if key not in ("hot-experts", "access-ledger", "device-memory"):
            assert "copied" in in_place(of), (key, in_place(of))


def one_access(n_passes: int) -> Tables:
    """The run with the first passes only, in which one operation ran: the last one that reads a matrix."""
    used = ranges(MOE)
    matrices = used[(used["memory"] == "disk").to_numpy(bool) & (used["slot"] == "src0").to_numpy(bool)]
    node = int(matrices.merge(MOE["passes"].query("kind == 'generate'"), on="pass_id")["node"].iloc[-1])
    passes = MOE["passes"].query("kind == 'generate'").head(n_passes)
    cut = {
        name: table[table["pass_id"].isin(passes["pass_id"]).to_numpy(bool)]
        for name, table in MOE.items()
        if "pass_id" in table
    }
    for name in ("ops", "spans", "touches"):
        cut[name] = cut[name][(cut[name]["node"] == node).to_numpy(bool)]
    return MOE | cut


@pytest.mark.parametrize("n_passes", [1, 2])
def test_one_operation_that_reads_one_matrix(n_passes: int) -> None:
    shown = contents(one_access(n_passes))
    size = {key: of for key, of in shown.items() if not in_place(of)}
    alone = n_passes == 1
    assert ("cache-rates" in size, "cache-sizes" in size, "reuse" in size) == ((not alone),) * 3
    assert ("working-set" in size) is not alone
    if alone:
        assert in_place(shown["reuse"]) == "Nothing was touched twice, so that no cache could serve anything."
        for key in ("cache-rates", "cache-sizes"):
            assert in_place(shown[key]).startswith("One pass was measured")
    text = " ".join(f"{of.title} {in_words(of.answer)} {of.caption}" for of in size.values())
    assert not re.search(r"\bnan\b|\binf\b|None|<NA>", text)


def test_each_size_of_granule_that_is_sampled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse.of_granules, "__defaults__", (5,))
    caption = contents(MOE)["reuse"].caption
    assert "Of the granules of 2 MiB" in caption and "Of the granules of 4 KiB" in caption
    monkeypatch.setattr(reuse.of_granules, "__defaults__", (10**6,))
    assert "Of the granules" not in contents(MOE)["reuse"].caption
