"""The index of experiments and the trend of one: what they say of bundles, old ones and bare ones too."""

import json
import re
import struct
import zlib
from dataclasses import replace
from datetime import timedelta
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.comparing.made import slot
from tests.many_experiments import a_full_report
from tests.pages.rendered import rendered
from tests.stand_in import HOSTILE, NOW, a_report, a_run, a_run_folder, a_version
from tests.test_site import gathered
from tracegen.charts import card as card_module
from tracegen.charts import theme
from tracegen.charts.card import card as small_picture
from tracegen.charts.theme import SEQUENTIAL_DARK, SEQUENTIAL_LIGHT
from tracegen.contract.model import Check
from tracegen.publishing import versions as publish
from tracegen.publishing.bundle import read_bundle
from tracegen.site.about import About
from tracegen.site.cards import card
from tracegen.site.pictures import CARD, HEIGHT, MOST_ROWS, WIDTH, drawn, picture
from tracegen.site.trend import change, differences, trend

ROOT = Path(__file__).parents[1]
FACTS: dict[str, dict[str, object]] = {
    "settings": {"question": "Why?", "threads": 2, "repack": True},
    "model": {
        "file": "m.gguf",
        "sha256": "ab" * 32,
        "architecture": "llama",
        "name": "A model",
        "size_bytes": 1024,
    },
    "host": {"cpu": "A CPU", "memory_bytes": 25_276_514_304},
    "llama_cpp": {
        "version": "1",
        "build": {"build.compiler": "12", "build.hooked": "hooks = ef7b4fcefd0c, commit = x", "ggml.commit": "y"},
    },
    "trace": {"faults_recorded": True, "requests_recorded": None},
    "versions": {"tracegen": "0.3.0"},
}
VALUES: dict[str, tuple[float | None, str]] = {
    "tokens_per_second_generate": (2030.97291, "2\u202f031 tokens/s"),
    "tokens_per_second_prompt": (4000.0, "4\u202f000 tokens/s"),
    "touched_share": (0.8143, "81.4 %"),
    "bytes_touched_per_token": (1000, "1000 B"),
    "peak_buffer_bytes": (10, "10 B"),
}


def facts(**changes: dict[str, object]) -> dict[str, dict[str, object]]:
    return {group: {**FACTS[group], **changes.get(group, {})} for group in FACTS}


def index_of(root: Path) -> str:
    return gathered(root).pages["experiments/index.md"].content()


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="tracegen-index">(.*?)</script>', html)
    assert found
    words = {}
    for key, options in re.findall(r'<select name="(\w+)"><option value="">all</option>(.*?)</select>', html):
        words[key] = [unescape(word) for word in re.findall(r'<option value="(.*?)">', options)]
    return {"words": words, "rows": json.loads(found[1])}


def text_of(html: str) -> str:
    """The words of the list, as a browser reads them, one line for each block."""

    class Reader(HTMLParser):
        lines: list[str] = [""]  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag in ("li", "p", "h3", "br", "div", "ul"):
                self.lines.append("")

        def handle_data(self, data: str) -> None:
            self.lines[-1] += data

    reader = Reader()
    reader.lines = [""]
    reader.feed(html[html.index('<ul class="tracegen-index">') : html.index("</ul>")])
    return "\n".join(" ".join(re.split(r"[ \n]+", line)).strip() for line in reader.lines if line.strip())


# The facts of bundles


@pytest.mark.parametrize(
    ("name", "number", "speed", "recorded", "size"),
    [
        ("sample", 1, "2\u202f031 tokens/s", ("experts",), 27_587_648),
        ("sample", 2, "3\u202f484 tokens/s", ("experts",), 27_587_648),
        ("disk-small", 1, "8\u202f391 tokens/s", ("page faults", "disk requests"), 5_534_304),
    ],
)
def test_the_facts_of_published_versions(
    name: str, number: int, speed: str, recorded: tuple[str, ...], size: int
) -> None:
    """Versions of tracegen 0.1 and 0.2, as they lie in this repository."""
    about = About(read_bundle(ROOT / "experiments" / name / "versions" / str(number)))
    assert about.text("tokens_per_second_generate") == speed
    assert (about.recorded, about.size_bytes, about.dtype) == (recorded, size, "F16")
    assert about.fact("model", "architecture") == "llama" and about.model.endswith("(random weights)")
    assert re.fullmatch(r"\d[\d.]* % of the file .*|The \d measured passes left .* untouched\.", about.finding)
    assert about.fact("llama_cpp", "version") == "0.3.36" and about.facts["command"][0] == "llama-completion"


def test_what_a_bundle_lacks_is_not_recorded(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments", report=a_report())
    text = text_of(index_of(tmp_path))
    assert text.splitlines() == [
        "no picture",
        "sample",
        "What is read?",
        "model not recorded",
        "architecture not recorded, type not recorded, size not recorded",
        "tokens/s not recorded",
        "61 % of the file touched",
        "sample@v1",
        "2026-11-21, complete",
        "1 version",
    ]
    assert data_of(index_of(tmp_path)) == {
        "words": {"verdict": ["complete"], "recorded": ["page faults", "disk requests", "experts"]},
        "rows": [[None, None, 0.6123, -1, -1, 0, [], []]],
    }


def test_what_a_bundle_holds_stands_in_the_index(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    report = a_full_report(
        facts(),
        finding="It reads 5 of 7. Then it stops.",
        values=VALUES,
        dtypes={"F32": 3, "Q4_K": 9, "Q6_K": 4},
        heatmap="pass_id,memory,bin,begin,end,touched_bytes\n1,disk,0,0,512,512\n",
        experts=True,
    )
    for number in (1, 2):
        a_version(experiments, number=number, report=report)
    a_run_folder(experiments, a_run(number=5))
    (experiments / "sample" / "experiment.toml").write_text('question = "Why so?"\ntags = ["moe", "disk"]\n')
    html = index_of(tmp_path)
    assert text_of(html).splitlines() == [
        "sample",
        "Why so?",
        "It reads 5 of 7.",
        "A model",
        "llama, Q4_K, 1.00 KiB",
        "2\u202f031 tokens/s, 1 run",
        "81.4 % of the file touched",
        "sample@v2",
        "2026-11-22, complete",
        "2 versions, 1 draft",
        "tags: moe, disk",
    ]
    assert data_of(html)["rows"] == [[1024, 2030.97, 0.8143, 0, 0, 0, [1, 0], [0, 2]]]
    site = gathered(tmp_path)
    assert "<img src=_/" in site.pages["experiments/index.md"].content() and len(site.pictures.files) == 1


def test_tags_are_those_of_the_settings_else_of_the_newest_bundle(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    a_version(experiments, report=a_full_report(facts(settings={"tags": ["old", "moe"]})))
    for settings, expected in (
        (None, "old, moe"),
        ('tags = ["new"]', "new"),
        ("tags = []", ""),
        ('tags = "new"', "old, moe"),
        ('tags = ["<b>"]', "old, moe"),
        ("tags = [", "old, moe"),
    ):
        if settings is not None:
            (experiments / "sample" / "experiment.toml").write_text(settings)
        assert ", ".join(card(gathered(tmp_path).entries[0]).tags) == expected


def test_the_newest_stand_first_and_withdrawn_versions_are_passed_over(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    for name, number in (("b", 3), ("a", 3), ("c", 9), ("gone", 1), ("back", 4), ("back", 5)):
        a_version(experiments, name, number)
    publish.withdraw(experiments / "gone", 1, "wrong", None, NOW)
    publish.withdraw(experiments / "back", 2, "wrong", None, NOW)
    (experiments / "waiting").mkdir()
    (experiments / "waiting" / "experiment.toml").write_text('question = "When?"')
    html = index_of(tmp_path)
    assert re.findall(r"<h3><a href=\"(.*?)/index.html", html) == ["c", "back", "a", "b", "gone", "waiting"]
    assert ">back@v1</a>" in html and ">back@v2</a>" not in html
    assert "1 version, none to read: withdrawn." in html and "<code>tracegen run waiting</code>" in html


def test_a_version_that_is_not_usable_is_marked(tmp_path: Path) -> None:
    run = replace(a_run(), checks=(Check("drops", "Dropped events", "failed", "3", "0"),))
    (tmp_path / "experiments" / "sample").mkdir(parents=True)
    publish.publish(tmp_path / "experiments" / "sample", run, lambda planned: a_report(), "why", NOW)
    assert "2026-11-20, ✕ not usable" in text_of(index_of(tmp_path))


def test_a_draft_says_that_it_is_one(tmp_path: Path) -> None:
    for number in range(1, 8):
        a_run_folder(tmp_path / "experiments", a_run(number=number))
    text = text_of(index_of(tmp_path))
    assert "sample/run-007, a draft" in text and "7 drafts" in text


@pytest.mark.parametrize(
    ("series", "other"),
    [
        ({"repetition": {"number": 1, "of": 3, "first_run": "run-001"}}, {}),
        (
            {"slot": slot(1, repack="true")},
            {"slot": slot(1, repack="false")},
        ),
    ],
)
def test_runs_of_one_series_give_a_range(
    tmp_path: Path, series: dict[str, dict[str, object]], other: dict[str, dict[str, object]]
) -> None:
    experiments = tmp_path / "experiments"
    for number, (rate, groups) in enumerate(((10.0, series), (14.0, series), (99.0, other), (12.0, series)), 1):
        values = {"tokens_per_second_generate": (rate, f"{rate:g} tokens/s")}
        report = a_full_report(facts() | groups, values=values)
        folder = experiments / "sample"
        folder.mkdir(parents=True, exist_ok=True)
        when = NOW + timedelta(days=number)
        publish.publish(folder, a_run(number=number), lambda planned, report=report: report, "why", when)
    (entry,) = gathered(tmp_path).entries
    assert card(entry).speed == "12 tokens/s (10.0 to 14.0 in the 3 runs that the site shows)"


def test_a_value_that_a_check_refused_is_not_called_a_number(tmp_path: Path) -> None:
    values: dict[str, tuple[float | None, str]] = {
        "tokens_per_second_generate": (None, "not shown"),
        "touched_share": (None, "withheld"),
    }
    a_version(tmp_path / "experiments", report=a_full_report(facts(), values=values))
    text = text_of(index_of(tmp_path))
    assert "tokens/s not shown" in text and "touched share withheld" in text
    assert data_of(index_of(tmp_path))["rows"][0][1:3] == [None, None]


def test_hostile_facts_are_text(tmp_path: Path) -> None:
    hostile: dict[str, object] = {"name": HOSTILE, "architecture": HOSTILE, "file": HOSTILE}
    report = a_full_report(
        facts(model=hostile, settings={"tags": [HOSTILE], HOSTILE: HOSTILE}),
        title=HOSTILE,
        finding=HOSTILE * 50,
        values={"tokens_per_second_generate": (1.0, HOSTILE), "touched_share": (float(1), HOSTILE)},
        dtypes={HOSTILE.replace(",", ""): 4},
    )
    for number in (1, 2):
        a_version(tmp_path / "experiments", number=number, report=report)
    (tmp_path / "experiments" / "sample" / "experiment.toml").write_text("question = '''" + HOSTILE + "'''\n")
    site = gathered(tmp_path)
    for name in ("experiments/index.md", "experiments/sample/index.md"):
        html = site.pages[name].content()
        assert "<script>alert" not in html and "<img src=x" not in html and HOSTILE not in html
    assert data_of(site.pages["experiments/index.md"].content())["words"]["model"]
    assert len(site.pages["experiments/index.md"].content()) < 10_000


# Small pictures


def pixels(content: bytes, size: tuple[int, int] = (WIDTH, HEIGHT)) -> tuple[list[list[int]], bytes]:
    """The colours of a PNG by line, as numbers in its palette, and the palette; every checksum is looked at."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack_from(">I", content, at + 8 + length)[0]
        parts[kind] = data
        at += 12 + length
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (width, height, depth, colour) == (size[0], 2 * size[1], 8, 3)
    raw = zlib.decompress(parts[b"IDAT"])
    lines = [raw[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(line[0] == 0 for line in lines)
    return [list(line[1:]) for line in lines], parts[b"PLTE"]


def test_a_picture_has_the_shares_of_the_heatmap_on_both_grounds(tmp_path: Path) -> None:
    data = tmp_path / "heatmap.csv"
    data.write_text(
        "pass_id,memory,bin,begin,end,touched_bytes\n"
        "1,disk,0,0,400,400\n1,copied,1,400,800,100\n2,disk,0,0,400,0\n2,disk,3,1200,1600,399\n"
    )
    lines, palette = pixels(drawn(data, 1600))
    quarter = WIDTH // 4
    upper, lower = lines[: HEIGHT // 2], lines[HEIGHT // 2 : HEIGHT]
    assert all(line == [8] * quarter + [2] * quarter + [0] * (2 * quarter) for line in upper)
    assert all(line == [0] * (3 * quarter) + [8] * quarter for line in lower)
    assert [[step + 9 for step in line] for line in lines[:HEIGHT]] == lines[HEIGHT:]
    assert palette[3 * 8 : 3 * 9].hex() == SEQUENTIAL_LIGHT[7][1:]
    assert palette[3 * 17 : 3 * 18].hex() == SEQUENTIAL_DARK[7][1:]


def test_a_picture_of_shares_joins_rows_and_leaves_out_warm_up(tmp_path: Path) -> None:
    data = tmp_path / "heatmap.csv"
    head = "row,pass_id,n_passes,begin,end,size_bytes,touched_bytes,copied_bytes,share\n"
    rows = [f"{r},{r},2,0,100,100,{200 if r % 2 else 0},0,1" for r in range(2 * MOST_ROWS)]
    data.write_text(head + "\n".join([*rows, "99,99,1,100,200,100,100,0,1", ""]))
    lines, _ = pixels(drawn(data, 200, frozenset(["99"])))
    assert set(map(tuple, lines[:HEIGHT])) == {(4,) * (WIDTH // 2) + (0,) * (WIDTH // 2)}


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2\n", "pass_id,begin,end,touched_bytes\n1,x,2,3\n", "pass_id,begin,end,touched_bytes\n"]
)
def test_other_data_gives_no_picture(tmp_path: Path, text: str) -> None:
    (tmp_path / "heatmap.csv").write_text(text)
    assert drawn(tmp_path / "heatmap.csv", 10) == b""
    assert drawn(tmp_path / "missing.csv", 10) == b""


def test_a_picture_is_kept_and_a_damaged_one_made_anew(tmp_path: Path) -> None:
    bundle, cache = read_bundle(ROOT / "experiments" / "sample" / "versions" / "2"), tmp_path / "cache"
    first = picture(bundle, 27_587_648, cache)
    (kept,) = cache.iterdir()
    assert kept.read_bytes() == first and pixels(first)
    kept.write_bytes(first[:100])
    assert picture(bundle, 27_587_648, cache) == first == kept.read_bytes()


def test_a_card_has_its_rectangles_on_both_grounds() -> None:
    """Whole width and height are used, later rectangles lie on top, and the narrowest is a pixel wide."""
    touched, waited = theme.INK["touched"], theme.INK["disk"]
    rects = pd.DataFrame(
        [(40, 200, 10, 30, touched[1]), (100, 120, 10, 30, waited[1]), (360, 360.01, 50, 90, touched[1])],
        columns=["left", "right", "top", "bottom", "colour"],
    )
    lines, palette = pixels(small_picture(rects), (card_module.WIDTH, card_module.HEIGHT))
    upper, lower = lines[: card_module.HEIGHT], lines[card_module.HEIGHT :]
    assert upper[0] == [1] * 60 + [2] * 20 + [1] * 80 + [0] * 160 and upper[-1] == [0] * 319 + [1]
    assert upper[40] == [0] * 320 and [[c + 2 if c else 0 for c in line] for line in upper] == lower
    colours = [f"#{palette[3 * n : 3 * n + 3].hex()}" for n in range(1, 5)]
    assert colours == [touched[1], waited[1], touched[2], waited[2]]


def test_a_bundle_shows_its_card_and_no_other_file(tmp_path: Path) -> None:
    version = a_version(tmp_path / "experiments", report=rendered(scaled_case(2, 3)))
    assert version.folder is not None
    bundle = read_bundle(version.folder)
    content = picture(bundle, None, tmp_path / "cache")
    assert pixels(content, (card_module.WIDTH, card_module.HEIGHT)) and not (tmp_path / "cache").exists()
    (bundle.folder / CARD).write_bytes(b"<svg onload=alert(1)>")
    assert picture(bundle, None, tmp_path / "cache") == b""


# Over versions


def test_one_version_has_no_trend(tmp_path: Path) -> None:
    a_version(tmp_path / "experiments")
    (entry,) = gathered(tmp_path).entries
    assert trend(entry) is None
    assert "With a second version" in gathered(tmp_path).pages["experiments/sample/index.md"].content()


def test_figures_over_versions(tmp_path: Path) -> None:
    rates = (100.0, 150.0, 75.0, None)
    for number, rate in enumerate(rates, 1):
        values = {**VALUES, "tokens_per_second_generate": (rate, f"{rate:g} tokens/s" if rate else "not shown")}
        if number == 2:
            values["touched_share"] = (0.9143, "91.4 %")
        a_version(tmp_path / "experiments", number=number, report=a_full_report(facts(), values=values))
    publish.withdraw(tmp_path / "experiments" / "sample", 3, "wrong", None, NOW)
    (entry,) = gathered(tmp_path).entries
    shown = trend(entry)
    assert shown is not None and shown.single
    assert [row.name for row in shown.rows] == ["v4", "v2", "v1"]  # the withdrawn one is passed over
    assert [(row.cells[0].text, row.cells[0].change) for row in shown.rows] == [
        ("not shown", ""),
        ("150 tokens/s", "+50.0\u202f%"),
        ("100 tokens/s", ""),
    ]
    assert [row.cells[2].change for row in shown.rows] == ["−10.0\u202fpoints", "+10.0\u202fpoints", ""]
    assert [row.cells[4].change for row in shown.rows] == ["same", "same", ""]
    assert [(step.name, step.before) for step in shown.steps] == [("v4", "v2"), ("v2", "v1")]
    assert 'points="3,14.3 48,3"' in shown.lines[0]  # the last one is not known
    html = gathered(tmp_path).pages["experiments/sample/index.md"].content()
    assert "a single run, which cannot tell a difference from noise" in html
    assert "significant" not in html


def test_many_steps_are_folded(tmp_path: Path) -> None:
    for number in range(1, 16):
        a_version(tmp_path / "experiments", number=number, report=a_full_report(facts()))
    html = gathered(tmp_path).pages["experiments/sample/index.md"].content()
    before, _, folded = html.partition("<details><summary>2 earlier steps</summary>")
    assert before.count(", after v") == 12 and folded.count(", after v") == 2
    assert html.count("<ul") == html.count("</ul>") and html.count("<details") == html.count("</details>")


@pytest.mark.parametrize(
    ("before", "after", "points", "expected"),
    [
        (1.0, 1.0, False, "same"),
        (200.0, 250.0, False, "+25.0\u202f%"),
        (200.0, 199.99, False, "nearly the same"),
        (1.0, 21.0, False, "+2\u202f000\u202f%"),
        (0.0, 5.0, False, ""),
        (0.5, 0.45, True, "−5.0\u202fpoints"),
    ],
)
def test_a_change(before: float, after: float, points: bool, expected: str) -> None:
    assert change(before, after, points=points) == expected


def step_of(tmp_path: Path, old: dict[str, dict[str, object]], new: dict[str, dict[str, object]], **page: str) -> str:
    abouts = []
    for number, groups in enumerate((old, new), 1):
        version = a_version(tmp_path / "experiments", number=number, report=a_full_report(groups))
        assert version.folder
        abouts.append(About(read_bundle(version.folder)))
    return "; ".join(differences(*abouts))


def test_the_same_facts_are_no_difference(tmp_path: Path) -> None:
    same = step_of(tmp_path, facts(), facts(host={"memory_bytes": 25_276_510_208}))
    assert same == "no difference in settings, model, llama.cpp, tracegen or host that both record"


def test_what_was_different_at_a_step(tmp_path: Path) -> None:
    new = facts(
        settings={"question": "Another?", "threads": 4, "page_cache": "cold"},
        model={"sha256": "cd" * 32, "name": None},
        llama_cpp={
            "version": "2",
            "build": {"build.compiler": "13", "build.hooked": "hooks = 578371122759, commit = x", "ggml.commit": "y"},
        },
        versions={"tracegen": "0.4.0"},
    )
    del new["settings"]["repack"]
    assert step_of(tmp_path, facts(), new) == (
        "threads 2 → 4; sha256 of the model abababab → cdcdcdcd; llama.cpp 1 → 2; tracegen 0.3.0 → 0.4.0; "
        "build of llama.cpp; hooks ef7b4fcefd0c → 578371122759; 1 setting is recorded for the first time; "
        "1 setting is no longer recorded"
    )


def test_a_bundle_without_facts_is_not_compared(tmp_path: Path) -> None:
    assert step_of(tmp_path, {}, facts()) == "the settings of one of them are not recorded"


def test_the_published_versions_of_the_sample(tmp_path: Path) -> None:
    """The prompt and the build are the same; hooks were not recorded by tracegen 0.1."""
    old, new = (About(read_bundle(ROOT / "experiments" / "sample" / "versions" / str(n))) for n in (1, 2))
    words = list(differences(old, new))
    assert "tracegen 0.1.0 → 0.2.0" in words and "hooks not recorded → ef7b4fcefd0c" in words
    assert "7 settings are recorded for the first time" in words
    assert not [word for word in words if word.startswith(("threads", "prompt", "memory", "build"))]
