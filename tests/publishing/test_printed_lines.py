"""The lines of Python that committed versions print still run: the names in them are public."""

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


def printed() -> dict[str, str]:
    """`sample@v1 data/heatmap.csv` -> the lines that make it."""
    by_figure = {}
    for version in sorted((ROOT / "experiments").glob("*/versions/*")):
        for page in sorted(version.rglob("*.html")):
            for code, csv in PROGRAM.findall(page.read_text(encoding="utf-8")):
                by_figure[f"{version.parts[-3]}@v{version.name} {csv.removeprefix('../')}"] = unescape(code)
    return by_figure


PRINTED = printed()


@pytest.fixture(autouse=True, scope="module")
def _every_version_is_loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loaded, "load_version", lru_cache(maxsize=1)(loaded.load_version))
        yield


def test_committed_versions_print_lines() -> None:
    assert len(PRINTED) >= 10


@pytest.mark.parametrize("name", PRINTED)
def test_the_lines_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, pd.DataFrame] = {}
    exec(compile(PRINTED[name], name, "exec"), names)
    assert isinstance(names["data"], pd.DataFrame) and len(names["data"].columns)
