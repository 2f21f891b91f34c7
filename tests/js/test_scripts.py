"""The scripts of the pages in node: each test of `*.test.mjs` is a test here, under its name.

Node is the one that Playwright's package carries. What the scripts should say is worked out in Python first.
"""

import json
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracegen.contract import quantities as q
from tracegen.report.document.packing import packed
from tracegen.report.pages.explorers.op_chunks import unit_text
from tracegen.report.pages.render import EXPLORER_SCRIPTS, SCRIPTS

FOLDER = Path(__file__).parent
ASSETS = FOLDER.parents[1] / "templates" / "assets" / "scripts"
TEST = re.compile(r'^test\("([^"]+)"', re.MULTILINE)
NAMES = [(path.name, name) for path in sorted(FOLDER.glob("*.test.mjs")) for name in TEST.findall(path.read_text())]
MOST = 2**52 - 1  # what explorers/packing.py lets through


def node() -> Path:
    """The node of Playwright's package, with which the package itself runs."""
    return Path(pytest.importorskip("playwright").__file__).parent / "driver" / "node"


def amounts() -> list[int]:
    """Whole numbers of every size, around every unit."""
    dice = random.Random(1)
    edges = [1024**k for k in range(5)] + [1000**k for k in range(5)] + [60 * 10**9, 12 * 10**10, 7200 * 10**9]
    near = [edge * factor + by for edge in edges for factor in (1, 10, 100, 999) for by in (-1, 0, 1)]
    return [n for n in [*near, *(int(2 ** dice.uniform(0, 52)) for _ in range(2000))] if 0 <= n <= MOST]


def ties() -> list[float]:
    """Numbers half-way between two of three digits, which binary holds exactly, and what stands beside them."""
    halves = [k + 0.5 for k in (100, 101, 998, 999)] + [n / 8 for n in range(1, 800)]
    return [value * sign for value in [0.0, *halves, 0.001, 1e-7, 123456.5, 1234567.0] for sign in (1, -1) if value]


def columns() -> list[list[int | None]]:
    dice = random.Random(2)

    def one() -> int | None:
        return None if dice.random() < 0.1 else dice.choice((-1, 1)) * int(2 ** dice.uniform(0, 52)) % (MOST + 1)

    near = [2**k + by for k in range(53) for by in (-1, 0, 1) if 2**k + by <= MOST]
    return [[], [None], [0], near, [-n for n in near], *([one() for _ in range(n)] for n in range(1, 60))]


def pairs(values: list[Any], words: Callable[[Any], str]) -> list[list[Any]]:
    return [[value, words(value)] for value in values]


def packed_text(numbers: list[int | None]) -> str:
    return packed(pd.Series(numbers, dtype="Int64"), np.array([len(numbers)]))[0]


def expectations() -> dict[str, Any]:
    """What the scripts should say, from the Python that writes the pages."""
    runs = [[(0, 1)], [(0, 2), (3, 1)], [(2 * k, 1) for k in range(24)], [(3 * k, 2) for k in range(25)], []]
    return {
        "scripts": [*SCRIPTS, *EXPLORER_SCRIPTS],
        "three": pairs([*ties(), *(n / 7 for n in amounts())], q.three),
        "decimals": [pairs(ties(), lambda value, places=places: q.decimal(value, places)) for places in range(4)],
        "durations": pairs(amounts(), q.duration),
        "sizes": pairs(amounts(), q.size),
        "counts": pairs(amounts(), q.count),
        "packed": pairs(columns(), packed_text),
        "units": pairs(runs, lambda one: unit_text("expert", one)),
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """Of each test, by file and name, what went wrong; empty when nothing did."""
    folder = tmp_path_factory.mktemp("js")
    given, report = folder / "expected.json", folder / "junit.xml"
    given.write_text(json.dumps(expectations()), encoding="utf-8")
    command = [node(), "--test", "--test-reporter=junit", f"--test-reporter-destination={report}"]
    files = sorted(FOLDER.glob("*.test.mjs"))
    environment = {**os.environ, "TRACEGEN_EXPECTED": str(given)}
    done = subprocess.run([*command, *files], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert report.is_file() and done.returncode in (0, 1), done.stdout + done.stderr
    outputs = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        outputs[Path(case.get("file", "")).name, case.get("name", "")] = "\n".join(
            f"{fault.get('message')}\n{fault.text}" for fault in case.findall("failure")
        )
    return outputs


@pytest.mark.parametrize(("file", "name"), NAMES, ids=[f"{file}: {name}" for file, name in NAMES])
def test_script(file: str, name: str, results: dict[tuple[str, str], str]) -> None:
    assert (file, name) in results, "node ran no such test; did its file load?\n" + "\n".join(
        filter(None, results.values())
    )
    assert not results[file, name], results[file, name]


def test_no_test_is_left_out(results: dict[tuple[str, str], str]) -> None:
    """Each is listed here by its name: a test that is made in a loop, or twice under a name, would not be."""
    assert sorted(results) == sorted(set(NAMES)) and len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize(
    ("scripts", "more"),
    [(SCRIPTS, {}), ((*SCRIPTS, *EXPLORER_SCRIPTS), {"no-unused-vars": ["error", {"caughtErrors": "none"}]})],
    ids=["of every page", "with those of explorers"],
)
def test_every_name_that_the_scripts_use_is_there_and_is_used(
    scripts: tuple[str, ...], more: dict[str, Any], tmp_path: Path
) -> None:
    """Of all scripts together, as the pages load them: one file alone cannot tell."""
    rules = {"no-undef": "error", "no-redeclare": "error", **more}
    settings = {"plugins": [], "categories": {"correctness": "off"}, "env": {"browser": True, "es2022": True}}
    (tmp_path / "rules.json").write_text(json.dumps({**settings, "rules": rules}), encoding="utf-8")
    parts = [(ASSETS / f"{name}.js").read_text(encoding="utf-8") for name in scripts]
    (tmp_path / "bundle.js").write_text(f"(function () {{\n{''.join(parts)}}}());\n", encoding="utf-8")
    command = [Path(sys.executable).parent / "oxlint", "--config", "rules.json", "bundle.js"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_script_is_one_of_the_bundle() -> None:
    assert sorted((*SCRIPTS, *EXPLORER_SCRIPTS)) == sorted(path.stem for path in ASSETS.glob("*.js"))


def test_lines_have_at_most_120_signs() -> None:
    """Comments too, which the formatter leaves alone."""
    paths = [*ASSETS.glob("*.js"), *FOLDER.glob("*.mjs")]
    lines = [(path.name, line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(name, line) for name, line in lines if len(line) > 120] == []
