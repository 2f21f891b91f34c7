"""The charts that a site has drawn before: each is drawn once, whatever becomes of the cache."""

import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from tracegen.site.drawings import Drawings, drawn_once, shrink

CHART = {"mark": "point", "data": {"values": [{"b": 0.1, "a": "\u00e9\n"}]}}
OTHER = {**CHART, "mark": "bar"}
DRAWN: list[Any] = []


@pytest.fixture(autouse=True)
def _none_drawn() -> None:
    DRAWN.clear()


def draw(document: Any) -> Any:
    DRAWN.append(document["mark"])
    time.sleep(0.05)
    return {"svg": f"<svg>{document}</svg>", "rows": document["data"]["values"], "n": 1.0}


def other(document: Any) -> Any:
    DRAWN.append(f"other {document['mark']}")
    return "text"


def test_a_chart_is_drawn_once(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "drawings"
    with ThreadPoolExecutor(1) as executor:
        drawings = Drawings(folder, executor)
        first, *again = [drawings.submit(draw, CHART).result() for _ in range(3)]
    assert DRAWN == ["point"] and all(repr(found) == repr(first) for found in again)
    assert drawn_once(folder, draw, OTHER) != first and drawn_once(folder, other, CHART) == "text"
    assert DRAWN == ["point", "bar", "other point"] and len(list(folder.iterdir())) == 3


def test_another_process_waits_for_the_one_that_draws(tmp_path: Path) -> None:
    begin = Barrier(4)

    def drawn() -> Any:
        begin.wait()
        return drawn_once(tmp_path, draw, CHART)

    with ThreadPoolExecutor(4) as executor:
        found = [future.result() for future in [executor.submit(drawn) for _ in range(4)]]
    assert DRAWN == ["point"] and all(of == found[0] for of in found)


@pytest.mark.parametrize("keep", [0, 10, 80, -1])
def test_a_drawing_that_was_cut_is_drawn_anew(tmp_path: Path, keep: int) -> None:
    first = drawn_once(tmp_path, draw, CHART)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    assert drawn_once(tmp_path, draw, CHART) == first and DRAWN == ["point"] * 2
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b"svg", b"SVG"))
    assert drawn_once(tmp_path, draw, CHART) == first and len(DRAWN) == 3


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert drawn_once(tmp_path / "file" / "drawings", draw, CHART)["n"] == 1
    assert DRAWN == ["point"] * 2
    with pytest.raises(KeyError):  # an error of drawing is not kept either
        drawn_once(tmp_path / "drawings", draw, {})
    assert drawn_once(tmp_path / "drawings", draw, CHART)["n"] == 1


def test_nothing_draws_on_for_a_process_that_was_killed(tmp_path: Path) -> None:
    code = """if True:
        import os, sys
        from pathlib import Path
        from tracegen.site.drawings import charts
        charts(Path(sys.argv[1])).submit(dict, {}).result()
        os.kill(os.getpid(), 9)
    """
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, timeout=120, check=False)
    assert ended.returncode == -9  # and its output has ended, which a process of its own would hold


def test_a_drawing_process_says_what_went_wrong_and_that_it_was_killed() -> None:
    code = """if True:
        import os
        from tracegen.contract.errors import EnvironmentFailure
        from tracegen.report import drawing
        with drawing.process() as executor:
            for call in ((len, "abc"), (len,), (os.abort,), (len, "abc")):
                try:
                    print(executor.submit(*call).result())
                except (EnvironmentFailure, TypeError) as error:
                    print(f"{type(error).__name__}: {error}")
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    killed = "EnvironmentFailure: the process that does it ended: killed by SIGABRT; see whether memory ran out"
    length, wrong, *lost = ended.stdout.splitlines()
    assert length == "3" and wrong.startswith("TypeError: len()") and len(lost) == 2
    assert all(line.startswith(killed) for line in lost)


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    charts = [{**CHART, "mark": mark} for mark in ("area", "line", "rule")]
    for i, chart in enumerate(charts):
        before = set(tmp_path.iterdir())
        drawn_once(tmp_path, draw, chart)
        (path,) = set(tmp_path.iterdir()) - before
        os.utime(path, (i, i))
        size = path.stat().st_size
    drawn_once(tmp_path, draw, charts[0])
    shrink(tmp_path, 2 * size)
    DRAWN.clear()
    for chart in (charts[0], charts[2], charts[1]):
        drawn_once(tmp_path, draw, chart)
    assert DRAWN == ["line"]
    shrink(tmp_path / "missing")


FONTS = """
import sys
from pathlib import Path
import vl_convert
from tracegen.site.drawings import charts

for name in sys.argv[2:]:  # an axis whose place depends on how wide its labels are
    axis = {"field": "x", "type": "nominal", "axis": {"labelFont": name}}
    chart = {"mark": "bar", "data": {"values": [{"x": "mill" * 5}]}, "encoding": {"y": axis}}
    print(repr(charts(Path(sys.argv[1])).submit(vl_convert.vegalite_to_svg, chart).result().replace(name, "")))
"""


def test_a_drawing_process_knows_no_font_of_the_machine(tmp_path: Path) -> None:
    if shutil.which("fc-list") is None:
        pytest.skip("no fc-list, which names the fonts of this machine")
    listed = subprocess.run(["fc-list", ":", "family"], capture_output=True, text=True, check=True).stdout
    families = sorted({line.partition(",")[0] for line in listed.splitlines()} - {"Liberation Sans"})
    if not families:
        pytest.skip("this machine has no font but the one that the engine carries")
    command = [sys.executable, "-c", FONTS, str(tmp_path), "No such font", *families]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    drawn = done.stdout.splitlines()
    assert len(drawn) == 1 + len(families) and len(set(drawn)) == 1
