"""The memory explorer in Chromium: what it tells of a block is what the tables hold, for rows and for single passes."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.browser.conftest import MOE_TABLES, drawn
from tests.builders import a_moe_run, scaled_case
from tests.report.rendered import undrawn
from tests.report_files import write_report
from tracegen.analysis import passes
from tracegen.analysis.accesses import accesses, ranges
from tracegen.analysis.heatmap import MOST_ROWS, display_rows
from tracegen.analysis.pieces import piece_bytes, piece_use, pieces
from tracegen.contract import quantities as q

pytestmark = pytest.mark.browser

TABLES = scaled_case(500, 2, moe=True)  # more tokens than rows: a row holds several
CUT = pieces(TABLES)
USE = piece_use(TABLES, ranges(TABLES), CUT)
ONCE = piece_bytes(TABLES, ranges(TABLES), CUT)
ROWS = display_rows(TABLES, MOST_ROWS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its explorer is looked at, not its figures."""
    return write_report(tmp_path_factory.mktemp("report"), undrawn(TABLES, a_moe_run()))


def number(name: str) -> int:
    return int(TABLES["tensors"].set_index("name")["tensor"][name])


def open_(page: Any, root: Path, tensor: str) -> None:
    page.goto((root / "file/index.html").as_uri() + f"#tensor={number(tensor)}")
    page.wait_for_selector("[data-tg=log] table, [data-tg=log] .tg-reason")


def facts(page: Any) -> dict[str, str]:
    pairs = page.eval_on_selector_all(
        "#tg-memory-about div", "boxes => boxes.map(b => [b.children[0].textContent, b.children[1].textContent])"
    )
    return dict(pairs)


def used_of(tensor: str, pass_ids: list[int], expert: int | None = None) -> pd.Series:
    piece = CUT[(CUT["tensor"] == number(tensor)) & ((CUT["expert"] == expert) if expert is not None else True)].index
    rows = USE[USE["pass_id"].isin(pass_ids) & USE["piece"].isin(piece)]
    return rows[["n_uses", "touched_bytes", "work_ns"]].sum() / len(pass_ids)


def test_an_address_leads_to_a_tensor(page: Any, root: Path) -> None:
    open_(page, root, "blk.1.attn_q.weight")
    about = facts(page)
    tensor = TABLES["tensors"].set_index("name").loc["blk.1.attn_q.weight"]
    assert (about["Tensor"], about["Layer"], about["Type"]) == ("blk.1.attn_q.weight", "1", str(tensor["dtype"]))
    assert about["Component"] == tensor["component"]
    assert f"({tensor['size_bytes']:,} bytes)".replace(",", "\u202f") in about["Size"]
    first = ROWS[ROWS["row"] == 0]["pass_id"].tolist()
    assert about["Bytes touched"] == q.size(used_of("blk.1.attn_q.weight", first)["touched_bytes"])


def test_the_first_colour_is_the_share_with_its_scale(page: Any, root: Path) -> None:
    """A row of the embedding that a token reads, of all its rows; the scale has the steps of the drawing."""
    open_(page, root, "token_embd.weight")
    assert page.input_value("[data-tg=quantity]") == "share"
    legend = page.locator("#explorer [data-tg=legend] li").all_inner_texts()
    assert legend[0] == "share of its bytes used per pass; linear scale above 1 % (0: no colour), up to"
    assert [legend[i] for i in (1, 2, 3, 5, 9)] == ["1.00 %", "12.5 %", "25.0 %", "50.0 %", "100 %"]
    first = ROWS[ROWS["row"] == 0]["pass_id"].tolist()
    piece = int(CUT[CUT["tensor"] == number("token_embd.weight")].index[0])
    used = int(ONCE[ONCE["pass_id"].isin(first) & (ONCE["piece"] == piece)]["used_bytes"].sum())
    whole = int(CUT["end"][piece] - CUT["begin"][piece])
    about = facts(page)["Share of its bytes used"].replace("\u202f", "")
    assert about == f"{100 * used / whole:#.3g} % ({used} of {whole} bytes)" and 0 < used < whole


def test_a_block_chooses_the_pass_of_its_row(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "file/index.html").as_uri() + f"#tensor={number('blk.1.ffn_gate_exps.weight')}")
    page.wait_for_selector("[data-tg=log] table")
    assert "pass=" not in page.url, "an address without a pass chooses none"
    assert page.locator("[data-tg=rows]").is_hidden(), "a short run has no choice of rows"
    page.locator("[data-tg=picture]").focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    chosen = page.locator("[data-tg=chosen] button").all_inner_texts()
    assert chosen[0].split(" (")[0] in facts(page), "the row of the block, by its name"
    assert "pass=" in page.url


def test_the_operations_behind_a_block(page: Any, root: Path) -> None:
    open_(page, root, "blk.0.ffn_gate_exps.weight")
    first = int(ROWS["pass_id"].iloc[0])
    rows = accesses(TABLES, [first])
    own = rows[(rows["source_name"] == "blk.0.ffn_gate_exps.weight") & rows["file"].notna()]
    nodes = page.locator("[data-tg=log] tbody tr th").all_inner_texts()
    assert nodes == [str(node) for node in own["node"]]
    link = page.locator("[data-tg=log] tbody th a").first
    assert link.get_attribute("href") == f"../operations/index.html#pass={first}&node={nodes[0]}"
    found = page.locator("[data-tg=log] tbody td a").first
    graph = int(TABLES["passes"].set_index("pass_id")["graph"][first])
    node = found.inner_text().removeprefix("node ")
    assert found.get_attribute("href") == f"../graph/index.html#g{graph}-n{node}"


def test_one_pass_of_a_row_is_worked_out_from_its_operations(page: Any, root: Path) -> None:
    """An expert that this token chose and the mean of its row tells otherwise."""
    name = "blk.1.ffn_up_exps.weight"
    open_(page, root, name)
    page.select_option("[data-tg=view]", "layers")
    page.select_option("[data-tg=which]", "one")
    passes = ROWS["pass_id"].tolist()
    at = len(passes) - 3
    page.eval_on_selector("[data-tg=slider]", f"e => {{ e.value = {at}; e.dispatchEvent(new Event('input')); }}")
    page.wait_for_function("!document.querySelector('[data-tg=at]').textContent.includes('loading')")
    page.locator("[data-tg=picture]").focus()
    experts = CUT[CUT["tensor"] == number(name)]["expert"].dropna().astype(int).tolist()
    seen = 0
    for expert in experts:
        about = facts(page)
        assert about["Tensor"] == f"{name}, expert {expert}"
        use = used_of(name, [passes[at]], expert)
        assert about["Memory"] == ("copied" if use["n_uses"] else "not touched")
        assert about["Times touched"] == (q.three(use["n_uses"]) if use["n_uses"] else "0")
        assert about["Bytes touched"] == (q.size(use["touched_bytes"]) if use["n_uses"] else "0")
        seen += int(use["n_uses"] > 0)
        page.keyboard.press("ArrowRight")
    assert 0 < seen < len(experts)


def slide(page: Any, name: str, value: int) -> None:
    page.eval_on_selector(f"[data-tg={name}]", f"e => {{ e.value = {value}; e.dispatchEvent(new Event('input')); }}")


def test_a_stretch_of_passes_is_exact_where_it_cuts_rows(page: Any, root: Path) -> None:
    name, outside = "blk.1.ffn_up_exps.weight", int(ROWS["outside"].sum())
    first, last = outside + 6, outside + 40
    passes = ROWS["pass_id"].tolist()[first : last + 1]
    within = ROWS[ROWS["pass_id"].isin(passes)].groupby("row").size()
    assert (within < ROWS.groupby("row").size()[within.index]).sum() == 2  # the first and the last row are cut
    for mode, of, divided in (("mean", f", mean of {len(passes)}", 1), ("sum", "", len(passes))):
        page.goto("about:blank")
        open_(page, root, name)
        page.select_option("[data-tg=view]", "layers")
        page.select_option("[data-tg=which]", mode)
        slide(page, "slider", last)
        slide(page, "first", first)
        page.wait_for_function(f"document.querySelector('[data-tg=at]').textContent.endsWith('{len(passes)} passes')")
        page.locator("[data-tg=picture]").focus()
        for expert in CUT[CUT["tensor"] == number(name)]["expert"].dropna().astype(int):
            about, use = facts(page), used_of(name, passes, expert) * divided
            assert about["Tensor"] == f"{name}, expert {expert}"
            assert about[f"Bytes touched{of}"] == (q.size(use["touched_bytes"]) if use["n_uses"] else "0")
            page.keyboard.press("ArrowRight")


def test_what_is_added_up_has_the_scale_of_the_whole_run(page: Any, root: Path) -> None:
    open_(page, root, "output.weight")
    page.select_option("[data-tg=quantity]", "touched_bytes")
    page.select_option("[data-tg=view]", "layers")
    page.select_option("[data-tg=which]", "sum")
    measured = ROWS[~ROWS["outside"]]["pass_id"]
    top = USE[USE["pass_id"].isin(measured)].groupby("piece")["touched_bytes"].sum().max()
    for last in (20, 100):
        slide(page, "slider", last)
        page.wait_for_function("!document.querySelector('[data-tg=at]').textContent.includes('loading')")
        legend = page.locator("#explorer [data-tg=legend] li").all_inner_texts()
        assert "added up; logarithmic scale" in legend[0] and legend[-1] == q.size(float(top))


def test_tokens_begin_with_what_was_measured_and_the_log_follows(page: Any, root: Path) -> None:
    open_(page, root, "blk.0.attn_q.weight")
    page.select_option("[data-tg=which]", "one")
    measured = ROWS[~ROWS["outside"]]["pass_id"].tolist()
    assert page.input_value("[data-tg=view]") == "layers", "to choose tokens is to look at the layers"
    assert page.is_visible("[data-tg=slider]") and not page.is_visible("[data-tg=first]")
    page.wait_for_function(f"document.querySelector('[data-tg=log] a').href.includes('pass={measured[0]}&')")
    slide(page, "slider", len(ROWS) - 1)
    page.wait_for_function(f"document.querySelector('[data-tg=log] a').href.includes('pass={measured[-1]}&')")
    page.select_option("[data-tg=which]", "mean")
    assert page.is_visible("[data-tg=first]")
    page.wait_for_function(f"document.querySelector('[data-tg=at]').textContent.endsWith('{len(measured)} passes')")
    page.select_option("[data-tg=view]", "tokens")
    assert page.input_value("[data-tg=which]") == "all" and not page.is_visible("[data-tg=slider]")


def test_the_passes_of_a_long_run_can_be_seen_one_by_one(page: Any, root: Path) -> None:
    open_(page, root, "output.weight")
    measured = ROWS[~ROWS["outside"]].sort_values("pass_id")
    assert int(measured["n_passes"].max()) > 1
    names = page.locator("[data-tg=rows] option").all_inner_texts()
    labels = passes.labels(TABLES)
    assert names[0] == f"all, up to {int(measured['n_passes'].max())} passes in a row" and len(names) == 4
    page.select_option("[data-tg=rows]", "2")
    page.wait_for_selector(f"canvas[data-rows='{names[2]}']", timeout=60_000)
    shown = measured["pass_id"].tolist()[200:400]
    assert names[2] == f"{labels[shown[0]]} to {labels[shown[-1]]}"
    page.fill("[data-tg=find]", "blk.1.attn_q.weight")
    page.keyboard.press("Enter")
    page.locator("[data-tg=picture]").focus()
    for pass_id in shown[:3]:
        about = facts(page)
        assert labels[pass_id] in about
        use = used_of("blk.1.attn_q.weight", [pass_id])
        assert about["Bytes touched"] == q.size(use["touched_bytes"])
        assert float(about["Times touched"]) == use["n_uses"]
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function(f"document.querySelector('[data-tg=log] a').href.includes('pass={shown[3]}&')")
    page.select_option("[data-tg=rows]", "0")
    page.fill("[data-tg=find]", "output.weight")
    page.keyboard.press("Enter")
    page.locator("[data-tg=picture]").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert any("mean of" in name for name in facts(page))


def test_the_border_to_the_log_moves_by_keys_and_pointer(page: Any, root: Path) -> None:
    open_(page, root, "output.weight")
    picture, border = page.locator("[data-tg=picture]"), page.locator("[data-tg=split]")
    before = picture.bounding_box()["height"]
    border.focus()
    page.keyboard.press("ArrowDown")
    drawn(page)
    assert picture.bounding_box()["height"] == pytest.approx(before + 20, abs=1.5)
    box = border.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 50, box["y"] + 105)
    page.mouse.up()
    drawn(page)
    assert picture.bounding_box()["height"] == pytest.approx(before + 120, abs=2)


def test_the_picture_shows_what_is_used(page: Any, root: Path) -> None:
    """Columns of pixels over an expert are coloured in rows whose tokens chose it, and bare in those that did not."""
    name = "blk.0.ffn_down_exps.weight"
    open_(page, root, name)
    page.click("[data-tg=whole]")
    drawn(page)
    measured = page.evaluate(
        """() => { const c = document.querySelector('[data-tg=picture]'), r = window.devicePixelRatio;
        return { width: c.width / r, height: c.height / r }; }"""
    )
    total = int((TABLES["files"]["axis_begin"] + TABLES["files"]["size_bytes"]).max())
    n_rows = int(ROWS["row"].nunique())
    step = max(4, min(18, 320 / n_rows))
    left, ruler = 120, 34
    per = (measured["width"] - left - 4) / total
    used = USE.merge(ROWS[["pass_id", "row"]], on="pass_id").groupby(["row", "piece"]).size()
    spots = [
        (row, piece, left + (one["begin"] + one["end"]) / 2 * per, ruler + row * step + step / 2)
        for piece, one in CUT[CUT["tensor"] == number(name)].iterrows()
        for row in range(0, n_rows, 7)
    ]
    darkest = page.evaluate(
        """spots => { const c = document.querySelector('[data-tg=picture]'), r = window.devicePixelRatio;
        const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return spots.map(([x, y]) => { let least = 765;
            for (let dx = -2; dx <= 2; dx += 1) {
                const at = 4 * (Math.round(y * r) * c.width + Math.round((x + dx) * r));
                least = Math.min(least, all[at] + all[at + 1] + all[at + 2]); }
            return least; }); }""",
        [[x, y] for _, _, x, y in spots],
    )
    dark = [value < 600 for value in darkest]
    assert dark == [(row, piece) in used.index for row, piece, _, _ in spots]
    assert min(dark.count(True), dark.count(False)) > 5


def test_views_quantities_and_play(page: Any, root: Path) -> None:
    open_(page, root, "output.weight")
    for view in ("matrix", "layers", "tokens"):
        page.select_option("[data-tg=view]", view)
        for quantity in ("n_uses", "work_ns", "touched_bytes", "share"):
            page.select_option("[data-tg=quantity]", quantity)
    page.select_option("[data-tg=order]", "layer")
    page.select_option("[data-tg=view]", "layers")
    page.select_option("[data-tg=which]", "sum")
    page.click("[data-tg=play]")
    page.wait_for_function("parseInt(document.querySelector('[data-tg=slider]').value) >= 2")
    page.click("[data-tg=play]")
    assert page.locator("[data-tg=play]").inner_text() == "play"


def test_the_lens_has_the_colour_of_the_picture(page: Any, root: Path) -> None:
    """A tensor that is used whole has the last colour of shares; the lens shows it around its middle."""
    open_(page, root, "output.weight")
    assert page.input_value("[data-tg=quantity]") == "share"
    seen, last = page.evaluate(
        """() => { const c = document.querySelector("[data-tg=lens]"), wide = c.getBoundingClientRect().width;
        const scale = c.width / wide, pen = c.getContext("2d");
        const e = document.querySelector(".tracegen").appendChild(document.createElement("i"));
        e.style.background = "var(--tg-s7)";
        return [Array.from(pen.getImageData(wide / 2 * scale, 8 * scale, 1, 1).data.slice(0, 3)),
                getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)]; }"""
    )
    assert seen == last


def test_waiting_for_the_disk_is_a_colour_where_it_was_recorded(page: Any, root: Path, moe_report: Path) -> None:
    open_(page, root, "output.weight")
    assert "waited_ns" not in page.eval_on_selector_all("[data-tg=quantity] option", "all => all.map(o => o.value)")
    assert "Waiting for the disk" not in facts(page)
    tensor = int(MOE_TABLES["tensors"].set_index("name")["tensor"]["blk.0.ffn_gate_inp.weight"])
    page.goto((moe_report / "file/index.html").as_uri() + f"#tensor={tensor}")
    page.wait_for_selector("[data-tg=log] table")
    page.select_option("[data-tg=quantity]", "waited_ns")
    assert "waiting for the disk per pass" in page.locator("[data-tg=legend]").inner_text()
    (place,) = MOE_TABLES["tensors"][MOE_TABLES["tensors"]["tensor"] == tensor].to_dict("records")
    of_file, offset = MOE_TABLES["faults"]["file"] == place["file"], MOE_TABLES["faults"]["offset"]
    inside = MOE_TABLES["faults"][of_file & offset.between(place["offset"], place["offset"] + place["size_bytes"] - 1)]
    waited = inside.groupby("pass_id")["duration_ns"].sum()
    page.locator("[data-tg=picture]").focus()
    colours, agrees = set(), []
    for one in display_rows(MOE_TABLES, MOST_ROWS).to_dict("records"):
        said = facts(page)
        assert one["label"] in said
        agrees.append(said["Waiting for the disk"] == q.duration(int(waited.get(one["pass_id"], 0))))
        colours.add(one["pass_id"] in waited.index)
        page.keyboard.press("ArrowDown")
    assert all(agrees) and colours == {True, False}


def test_a_tensor_that_is_not_there(page: Any, root: Path) -> None:
    page.goto((root / "file/index.html").as_uri() + "#tensor=99999")
    page.wait_for_function("document.querySelector('#explorer [data-tg=status]').textContent.includes('no tensor')")
    page.fill("[data-tg=find]", "nothing like it")
    page.keyboard.press("Enter")
    assert page.locator("#explorer [data-tg=status]").inner_text() == "No tensor has this name."


@pytest.mark.parametrize("width", [360, 1024, 1280])
def test_pointing_at_blocks_moves_nothing(tab: Any, moe_report: Path, width: int) -> None:
    page = tab(moe_report / "file/index.html", viewport={"width": width, "height": 1000})
    page.wait_for_selector("[data-tg=legend] li")
    drawn(page)
    size = "[document.documentElement.scrollHeight, document.querySelector('#tg-memory-about').clientHeight]"
    before = page.evaluate(size)
    box = page.locator("[data-tg=picture]").bounding_box()
    told = []
    for part in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
        page.mouse.move(box["x"] + part * box["width"], box["y"] + 0.5 * box["height"])
        told.append("Tensor" in facts(page))
        assert page.evaluate(size) == before
        assert page.evaluate("document.querySelector('#tg-memory-about').scrollHeight") <= before[1], "none is cut"
    assert any(told)
