"""The lines of Python that committed versions print still make the data that they say: the names in them are public.

Most programs stand in several versions: each is run with one of them, and with all of them every night.
"""

import io
import re
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

from tracegen.reading.notebook import loaded

ROOT = Path(__file__).parents[2]
PROGRAM = re.compile(r"<pre[^>]*><code>(import tracegen\n.*?)</code></pre>.*?equals <a href=\"([^\"]+)\"", re.DOTALL)
LOADED = re.compile(r"tracegen\.load\([^)]*\)")


def printed() -> dict[str, str]:
    """`sample@v1 data/heatmap.csv` -> the lines that make it."""
    by_figure = {}
    for version in sorted((ROOT / "experiments").glob("*/versions/*")):
        for page in sorted(version.rglob("*.html")):
            for code, csv in PROGRAM.findall(page.read_text(encoding="utf-8")):
                by_figure[f"{version.parts[-3]}@v{version.name} {csv.removeprefix('../')}"] = unescape(code)
    return by_figure


PRINTED = printed()


def lightest() -> dict[str, str]:
    """Each program, whichever version it loads -> its figure in the version with the smallest data."""

    def size(name: str) -> int:
        experiment, number = name.partition(" ")[0].split("@v")
        folder = ROOT / "experiments" / experiment / "versions" / number / "data"
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    sizes = {name.partition(" ")[0]: size(name) for name in PRINTED}
    heaviest_first = sorted(PRINTED, key=lambda name: -sizes[name.partition(" ")[0]])
    return {LOADED.sub("", PRINTED[name]): name for name in heaviest_first}


ONCE = set(lightest().values())


@pytest.fixture(autouse=True, scope="module")
def _every_version_is_loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaded, "load_version", lru_cache(maxsize=1)(loaded.load_version))
        yield


def test_committed_versions_print_lines() -> None:
    assert len(PRINTED) > len(ONCE) >= 60


@pytest.mark.parametrize(
    "name", [name if name in ONCE else pytest.param(name, marks=pytest.mark.nightly) for name in PRINTED]
)
def test_the_lines_make_the_published_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the published digits; an analysis may have more columns now, and none less."""
    monkeypatch.chdir(ROOT)
    names: dict[str, pd.DataFrame] = {}
    exec(compile(PRINTED[name], name, "exec"), names)
    citation, _, path = name.partition(" ")
    experiment, number = citation.split("@v")
    published = pd.read_csv(ROOT / "experiments" / experiment / "versions" / number / path)
    data = pd.read_csv(io.StringIO(names["data"].to_csv(index=False)))
    assert set(data) >= set(published)
    pd.testing.assert_frame_equal(data[list(published)], published, check_dtype=False, rtol=1e-9, atol=0)
