"""What the pages of a long run cost: to make, to open, and to look for something in them, in a headless Chromium."""

import gzip
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests import chromium
from tests.web import served

from benchmarks.bench_tracer import disk_folder
from benchmarks.large import LAYERS, record
from benchmarks.result import Result
from tracegen.contract.errors import EnvironmentFailure
from tracegen.readers.gguf.file import read_model
from tracegen.readers.native.segments import segment_files
from tracegen.readers.native.trace import VERSION, ModelTables, read_trace
from tracegen.storing import store
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

PASSES = 2000
RENDER_S, RENDER_BYTES, VIEW_BYTES = 30, 2 * 2**30, 700e3
PICTURE_MS, TOKEN_MS, ROWS_MS, TAB_BYTES = 1500, 300, 100, 500e6
PAGES = ("index.html", *(f"{key}/index.html" for key in ("memory", "operations", "graph", "timeline", "experts")))
# A moment ends when the browser has drawn what followed from it.
DRAWN = "await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));"
LABEL = "document.querySelector('.tg-operations [data-tg=label]')"


def run(quick: bool) -> list[Result]:
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="tracegen-bench-", dir=disk_folder()) as name:
        work = Path(name)
        progress.step(f"trace {200 if quick else PASSES} passes of {LAYERS} layers")
        model_file, trace = record(work, 200 if quick else PASSES)
        model = read_model(model_file)
        read = read_trace(segment_files(trace), ModelTables(model.files, model.tensors))
        store.write_tables(work / "tables", read.tables, VERSION)
        del read
        progress.step("make the pages")
        made = _render(work)
        progress.step("open them")
        results = [*_making(made), *_looking(work / "pages", 3 if quick else 9)]
        progress.done()
    return results


def _render(work: Path) -> dict[str, Any]:
    out, err = work / "render.txt", work / "render-err.txt"
    command = [sys.executable, "-m", "benchmarks.render_once", str(work / "tables"), str(work / "pages")]
    ended = run_program(command, stdout=out, stderr=err)
    if ended.status != 0:
        raise EnvironmentFailure(f"rendering: {ended.ending}:\n{last_lines(err)}")
    made: dict[str, Any] = json.loads(out.read_text())
    return made


def _making(made: dict[str, Any]) -> list[Result]:
    rows = ", ".join(f"{n:,} {table}".replace(",", "\u2009") for table, n in made["rows"].items())
    return [
        Result("pages made", made["render_s"], "s", RENDER_S, f"once; {rows}"),
        Result("peak memory of making them", made["peak"] / 2**30, "GiB", RENDER_BYTES / 2**30, "tables included"),
        Result("files beside the pages", made["bytes"] / 1e6, "MB", note="downloads included"),
    ]


def _looking(folder: Path, repeats: int) -> list[Result]:
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    if path is None:
        raise EnvironmentFailure("no Chromium: python tests/chromium.py")
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        views = [_view(browser, address, page, folder, repeats) for page in PAGES]
        results = [r for view in views for r in view]
        results += _table(browser, address + "operations/index.html", repeats)
        results += _explorer(browser, address + "memory/index.html", repeats)
        browser.close()
    return results


# Every figure in view tells what is pointed at.
TOLD = """[...document.querySelectorAll("[data-targets]")]
    .every(one => one.getBoundingClientRect().top >= innerHeight || one.hasAttribute("data-told"))"""


def _view(browser: Any, address: str, name: str, folder: Path, repeats: int) -> list[Result]:
    """The first view of a page: bytes as a server would compress them, and when its first figure was on the screen.

    What makes the figures in view tell what is pointed at is counted, Vega too; it comes after they are drawn.
    """
    took, asked = [], set()
    for _ in range(repeats):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.on("request", lambda request: asked.add(request.url.removeprefix(address)))
        page.goto(address + name, wait_until="load")
        page.wait_for_selector(".tg-figure svg:visible, tr.tg-op", state="visible")
        took.append(page.evaluate(f"async () => {{ {DRAWN} return performance.now(); }}"))
        page.wait_for_function(TOLD)
        page.close()
    files = [folder / (url or "index.html") for url in asked if (folder / url).is_file()]
    size = sum(len(gzip.compress(file.read_bytes())) for file in files)
    return [
        Result(f"{name}: first view", size / 1e3, "kB", VIEW_BYTES / 1e3, f"{len(files)} files, compressed by gzip"),
        Result(
            f"{name}: shown", statistics.median(took), "ms", PICTURE_MS, f"median of {repeats}, from the request on"
        ),
    ]


def _tab_bytes(browser: Any) -> int:
    """Resident memory of the largest process that draws a page, in bytes."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    pids = [one["id"] for one in found if one["type"] == "renderer"]
    texts = [Path(f"/proc/{pid}/status").read_text(encoding="ascii") for pid in pids]
    return max(int(line.split()[1]) * 1024 for text in texts for line in text.splitlines() if line.startswith("VmRSS:"))


def _timed(page: Any, script: str) -> float:
    """Milliseconds from the start of `script` until what it changed is drawn."""
    found: float = page.evaluate(
        f"async () => {{ const begin = performance.now(); {script} {DRAWN} return performance.now() - begin; }}"
    )
    return found


def _until(condition: str) -> str:
    ask = f"if ({condition}) {{ clearInterval(i); done(); }}"
    return f"await new Promise(done => {{ const i = setInterval(() => {{ {ask} }}, 1); }});"


def _type(name: str, text: str) -> str:
    return (
        f"const box = document.querySelector('#tab-operations [data-tg={name}]'); box.value = '{text}';"
        " box.dispatchEvent(new Event('input'));"
    )


def _table(browser: Any, address: str, repeats: int) -> list[Result]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address, wait_until="load")
    passes = page.eval_on_selector_all("[data-tg=choose] option", "all => all.map(one => one.value)")
    times: dict[str, list[float]] = {"choose": [], "filter": [], "sort": [], "find": []}
    page.click("#tab-operations summary:has-text('Find')")
    _timed(page, _type("find", "ffn") + _until("document.querySelector('.tg-found li')"))  # the names are loaded once
    for i in range(repeats):
        number = passes[(i * 7919 + 11) % len(passes)]
        script = (
            f"const was = {LABEL}.textContent, list = document.querySelector('.tg-operations [data-tg=choose]');"
            f" list.value = '{number}'; list.dispatchEvent(new Event('change'));"
        )
        times["choose"].append(_timed(page, script + _until(f"{LABEL}.textContent !== was")))
        for text in ("ffn", "blk.3", "mul_mat layer 7", ""):
            times["filter"].append(_timed(page, _type("filter", text)))
        for k in (0, 1, 7):
            times["sort"].append(_timed(page, f"document.querySelectorAll('.tg-sort')[{k}].click();"))
        for text in ("ffn_up", "blk.7", "attn_q", "a"):
            times["find"].append(_timed(page, _type("find", text)))
        times["find"].append(_timed(page, "document.querySelector('.tg-found button').click();"))
    how = f"median of {repeats}"
    memory = _tab_bytes(browser)
    page.close()
    return [
        Result("choosing a token", statistics.median(times["choose"]), "ms", TOKEN_MS, f"{how}, its chunk loaded"),
        Result("filtering a token's rows", statistics.median(times["filter"]), "ms", ROWS_MS, f"{how}, four texts"),
        Result("sorting a token's rows", statistics.median(times["sort"]), "ms", ROWS_MS, f"{how}, three columns"),
        Result(
            "finding a name in the run", statistics.median(times["find"]), "ms", ROWS_MS, f"{how}, passes listed too"
        ),
        Result("memory of the tab after that", memory / 1e6, "MB", TAB_BYTES / 1e6, "resident, its process alone"),
    ]


def _explorer(browser: Any, address: str, repeats: int) -> list[Result]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address + "#tensor=5", wait_until="load")
    page.wait_for_selector("[data-tg=log] table")
    change = "const v = document.querySelector('[data-tg=view]'); v.value = '{}'; v.dispatchEvent(new Event('change'));"
    drawn = [_timed(page, change.format(view)) for view in ("layers", "tokens") for _ in range(repeats)]
    page.select_option("[data-tg=view]", "layers")
    page.select_option("[data-tg=which]", "one")
    slide = "const s = document.querySelector('[data-tg=slider]'); s.value = {}; s.dispatchEvent(new Event('input'));"
    ready = _until("!document.querySelector('[data-tg=at]').textContent.includes('loading')")
    moved = [_timed(page, slide.format(100 + 97 * i) + ready) for i in range(repeats)]
    memory = _tab_bytes(browser)
    page.close()
    how = f"median of {repeats}"
    return [
        Result("drawing the whole file again", statistics.median(drawn), "ms", TOKEN_MS, how),
        Result("choosing a token in the memory explorer", statistics.median(moved), "ms", TOKEN_MS, how),
        Result("memory of the tab of the memory page", memory / 1e6, "MB", TAB_BYTES / 1e6, "resident"),
    ]
