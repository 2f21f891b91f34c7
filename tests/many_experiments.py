"""A site of many small experiments with all that the index shows of one: facts, figures, a picture, tags.

`python -m tests.many_experiments FOLDER [N]` builds one to look at.
"""

import json
import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tests.stand_in import a_project, a_report, a_run
from tracegen.charts import theme
from tracegen.charts.card import card
from tracegen.cli.commands.build import build_site
from tracegen.contract.address import CARD
from tracegen.contract.facts import Facts
from tracegen.contract.model import Verdict, Version
from tracegen.contract.records import decode
from tracegen.publishing.bundle import VERSION_FILE, write_bundle
from tracegen.publishing.versions import LEDGER_FILE, identity_of
from tracegen.report.document.page import Report
from tracegen.report.pages import run_file
from tracegen.storing import store

MODELS = {
    "Qwen3 30B A3B Instruct": ("qwen3moe", "Q4_K", 17_310_785_536),
    "gpt-oss 20B": ("gpt-oss", "MXFP4", 12_101_501_952),
    "Llama 3.2 3B Instruct": ("llama", "Q8_0", 3_421_899_296),
    "tracegen moe (random weights)": ("llama", "F16", 27_587_648),
}
TAGS = ("disk", "moe", "prefault", "repack", "threads")
VERDICTS: tuple[Verdict, ...] = ("complete", "complete with warnings", "not usable")
FINDING = "The 24 measured passes left {share} % of the file untouched."


def a_full_report(
    groups: Mapping[str, Mapping[str, object]],
    *,
    title: str = "What is read?",
    finding: str = "",
    values: Mapping[str, tuple[float | None, str]] | None = None,
    dtypes: Mapping[str, int] | None = None,
    picture: bytes = b"",
) -> Report:
    """A small report that holds what the index reads; each part is left out where it is empty."""
    report = a_report(title)
    files = dict(report.files)
    if groups:
        files[run_file.PATH] = run_file.run_file(replace(a_run(), facts=decode(Facts, groups))).encode()
    if dtypes:
        rows = [f"{i},t{i},{dtype},{size}" for i, (dtype, size) in enumerate(dtypes.items())]
        files["data/tensors-use.csv"] = "\n".join(["tensor,name,dtype,size_bytes", *rows, ""]).encode()
    if picture:
        files[CARD] = picture
    known = {key: {"value": value, "unit": "1", "text": text} for key, (value, text) in (values or {}).items()}
    return replace(report, files=files, values=known, finding=finding)


def an_experiment(experiments: Path, number: int) -> str:
    """Publish a version of the experiment with this number; every seventh lacks what the others have."""
    dice = random.Random(number)
    name = f"{dice.choice(('cold', 'warm', 'disk', 'experts'))}-{number:03d}"
    model = list(MODELS)[number % len(MODELS)]
    architecture, dtype, size = MODELS[model]
    bare = number % 7 == 0
    rate, share = round(10 ** dice.uniform(0, 3), 3), round(dice.uniform(0.05, 1), 4)
    tags = dice.sample(TAGS, number % 3)
    groups = {
        "settings": {"threads": 2} | ({"tags": tags} if tags else {}),
        "model": {"name": model, "architecture": architecture, "size_bytes": size},
    }
    tokens = [(x, x + 1, y, y + 1) for y in range(8) for x in range(64) if dice.random() < share]
    rects = pd.DataFrame(tokens, columns=["left", "right", "top", "bottom"]).assign(colour=theme.INK["touched"][1])
    report = a_full_report(
        {} if bare else groups,
        finding="" if bare else FINDING.format(share=round(100 - share * 100, 1)),
        values=None
        if bare
        else {
            "tokens_per_second_generate": (rate, f"{rate:.3g} tokens/s"),
            "touched_share": (share, f"{share:.1%}".replace("%", " %")),
        },
        dtypes={dtype: size * 3 // 4, "F32": size // 4},
        picture=card(rects),
    )
    keys = ("overview", "file", "method")
    report = replace(report, pages=tuple(page for page in report.pages if page.key in keys))
    _published(experiments / name, report, VERDICTS[number % 3], f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}")
    question = f"How much of the file does a token of experiment {number} read when nothing is in memory?"
    written = f"question = {json.dumps(question)}\n" + (f"tags = {json.dumps(tags)}\n" if tags else "")
    (experiments / name / "experiment.toml").write_text(written, encoding="utf-8")
    return name


def _published(folder: Path, report: Report, verdict: Verdict, day: str) -> None:
    """Publish as `publish` does, without its care for power that fails: hundreds take seconds so."""
    place = folder / "versions" / "1"
    place.mkdir(parents=True)
    version = Version(folder.name, 1, f"{day}T12:00:00Z", "why", (1,), verdict, report.title, folder=place)
    write_bundle(place, report, identity_of(version, report.title))
    entry = {"version": 1, "created": version.created, "sha256": store.sha256_of(place / VERSION_FILE)}
    document = {"schema": 1, "experiment": folder.name, "versions": [entry]}
    (folder / LEDGER_FILE).write_text(json.dumps(document), encoding="utf-8")


def many(folder: Path, n: int) -> Path:
    """The config of a project of `n` experiments; the site is not built."""
    config = a_project(folder)
    for number in range(1, n + 1):
        an_experiment(folder / "experiments", number)
    return config


if __name__ == "__main__":
    print(build_site(many(Path(sys.argv[1]), int((*sys.argv, "500")[2]))))
