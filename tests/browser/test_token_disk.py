"""Which tensors a token waits for and reads, on the page of operations and on that of the file."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import MOE_RUN, MOE_TABLES, unpacked
from tests.builders import with_facts, with_requests
from tests.drawn import empty_figures
from tests.report_files import written_report
from tracegen.analysis import passes
from tracegen.contract import quantities as q

pytestmark = pytest.mark.browser

TABLES = with_requests(MOE_TABLES)
PASS = 4


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with empty_figures():
        run = with_facts(MOE_RUN, trace=dict(faults_recorded=True, requests_recorded=True))
        return written_report(tmp_path_factory.mktemp("token-disk"), TABLES, run)


def of_tensor(tensor: dict[str, Any], pass_id: int) -> tuple[int, int]:
    """Waiting (ns) of a pass for bytes of a tensor, and how many of them it read."""
    begin, end = tensor["offset"], tensor["offset"] + tensor["size_bytes"]
    faults, requests = (
        table[(table["pass_id"] == pass_id) & (table["file"] == tensor["file"])].to_dict("records")
        for table in (TABLES["faults"], TABLES["requests"])
    )
    waited = sum(one["duration_ns"] for one in faults if begin <= one["offset"] < end)
    ends = [(one["offset"], one["offset"] + one["file_bytes"]) for one in requests]
    return waited, sum(max(min(end, last) - max(begin, first), 0) for first, last in ends)


def known(pass_id: int) -> dict[str, tuple[int, int]]:
    tensors = TABLES["tensors"].to_dict("records")
    return {tensor["name"]: of_tensor(tensor, pass_id) for tensor in tensors}


def rows(page: Any) -> list[list[str]]:
    texts = [row.locator("th, td").all_inner_texts() for row in page.locator("[data-tg=tensors] tbody tr").all()]
    return [[text.replace("\u202f", "") for text in row] for row in texts]


def test_the_panel_of_a_token_names_what_it_waited_for_and_read(page: Any, root: Path) -> None:
    page.goto((root / "operations/index.html").as_uri() + f"#pass={PASS}")
    page.wait_for_function(f"document.querySelector('[data-tg=label]').textContent.includes('pass {PASS}')")
    shown, wanted = rows(page), known(PASS)
    head = page.locator("[data-tg=tensors] thead th").all_inner_texts()
    assert [" ".join(text.split()) for text in head] == ["Tensor", "Waited µs", "Read KiB", "Touched KiB", "Memory"]
    for name, waited, read, *_ in shown:
        ns, n_bytes = wanted[name]
        assert float(waited) == pytest.approx(ns / 1e3, abs=0.051), name
        assert float(read) == pytest.approx(n_bytes / 1024, abs=0.051), name
    order = sorted(wanted.values(), reverse=True)[: len(shown)]
    assert [wanted[row[0]] for row in shown] == order and order[0][0] > 0
    page.click("[data-tg=tensor-all]")
    every = {row[0]: float(row[2]) for row in rows(page)}
    read = {name: n_bytes for name, (_, n_bytes) in wanted.items() if n_bytes}
    assert len(every) > len(shown) and {name: every[name] for name in read} == pytest.approx(
        {name: n_bytes / 1024 for name, n_bytes in read.items()}, abs=0.051
    )
    assert not page.locator("[data-tg=tensor-all]").is_visible()
    foot = page.locator("[data-tg=tensors] tfoot :is(th, td)").all_inner_texts()
    name, waited_us, read_kib, *_ = [text.replace("\u202f", "") for text in foot]
    assert name == f"all {len(every)}"
    assert float(waited_us) == pytest.approx(sum(ns for ns, _ in wanted.values()) / 1e3, abs=0.051)
    assert float(read_kib) == pytest.approx(sum(read.values()) / 1024, abs=0.051)
    page.click("[data-tg=tensors] th:nth-child(3) button")
    by_read = [float(row[2]) for row in rows(page)]
    assert by_read == sorted(by_read, reverse=True) and "tensors=read" in page.url
    page.select_option("[data-tg=quantity]", "disk")
    page.goto(page.url.replace("operations/index.html", "operations/index.html?again"))
    page.wait_for_selector("[data-tg=tensors] th:nth-child(3)[aria-sort=descending]")
    assert page.input_value("[data-tg=quantity]") == "disk"
    page.locator("[data-tg=tensors] tbody a").first.click()
    page.wait_for_selector("#tg-memory-about dt:text-is('token 2')")  # the row of the pass, not the first that has it


def test_what_was_not_recorded_has_no_column_and_is_said(page: Any, moe_report: Path) -> None:
    page.goto((moe_report / "operations/index.html").as_uri() + f"#pass={PASS}")
    table = unpacked(page).locator("[data-tg=tensors] table")
    page.click("[data-tg=tensor-all]")
    n = table.locator("tbody tr").count()
    page.goto(page.url.replace("index.html", "index.html?again"))
    page.wait_for_function("n => document.querySelectorAll('[data-tg=tensors] tbody tr').length === n", arg=n)
    assert n > 5 and ":all" in page.url
    assert "Waited" in table.locator("thead").inner_text() and "Read" not in table.locator("thead").inner_text()
    assert page.locator("[data-tg=tensors] + .tg-caption").inner_text().endswith("Bytes read: not recorded.")


def test_a_single_token_has_its_waiting_and_its_reads_in_the_map_of_the_file(page: Any, root: Path) -> None:
    wanted = known(PASS)
    names = [name for name, (ns, n_bytes) in wanted.items() if ns and n_bytes and "exps" not in name]
    assert names
    tensors = TABLES["tensors"].set_index("name")["tensor"]
    page.goto((root / "file/index.html").as_uri() + f"#tensor={tensors[names[0]]}")
    page.wait_for_selector("[data-tg=log] table")
    page.select_option("[data-tg=view]", "layers")
    page.select_option("[data-tg=which]", "one")
    shown = TABLES["passes"].dropna(subset=["graph"])["pass_id"].tolist()
    slider = f"e => {{ e.value = {shown.index(PASS)}; e.dispatchEvent(new Event('input')); }}"
    page.eval_on_selector("[data-tg=slider]", slider)
    pairs = page.locator("#tg-memory-about div").all()
    facts = {one.locator("dt").inner_text(): one.locator("dd").inner_text() for one in pairs}
    ns, n_bytes = wanted[names[0]]
    assert facts["Waiting for the disk"] == q.duration(ns)
    assert facts["Bytes read from the disk"] == q.size(n_bytes)
    options = page.eval_on_selector_all("[data-tg=quantity] option", "all => all.map(o => o.value)")
    assert options[-2:] == ["waited_ns", "read_bytes"]


def test_a_layer_has_its_waiting_and_its_reads_beside_those_of_each_token(page: Any, root: Path) -> None:
    page.goto((root / "file/index.html").as_uri() + "#explorer")
    page.wait_for_selector("#explorer:not([hidden]) [data-tg=names] option", state="attached")
    page.select_option("[data-tg=view]", "matrix")
    page.select_option("[data-tg=quantity]", "read_bytes")
    page.locator("[data-tg=picture]").focus()
    sums = {}
    for _ in range(3):
        page.keyboard.press("ArrowDown")
        pairs = page.locator("#tg-memory-about div").all()
        facts = {one.locator("dt").inner_text(): one.locator("dd").inner_text() for one in pairs}
        sums[facts["Layer"]] = (facts["Tokens"], facts["Waiting for the disk"], facts["Bytes read from the disk"])
    labels = passes.labels(TABLES)
    tensors = TABLES["tensors"].to_dict("records")
    for layer, (label, waited, read) in sums.items():
        pass_id = next(number for number, name in labels.items() if name == label)
        of = [one for one in tensors if one["layer"] == int(layer.removeprefix("layer "))]
        each = [of_tensor(tensor, pass_id) for tensor in of]
        assert (waited, read) == (q.duration(sum(ns for ns, _ in each)), q.size(sum(n for _, n in each)))
