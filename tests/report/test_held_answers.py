"""The answer of recorded runs, beside what a person who looked at their tables wrote down before."""

import json
from pathlib import Path

import pytest

from tests.earlier import put_together
from tracegen.reading.notebook.loaded import LoadedRun, LoadedVersion, load, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings.answer import answer, quick
from tracegen.report.findings.found import findings

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
# Version -> kind, scope, and words of the answer; and of what must stand among the next four.
ANSWERS = {
    # 24 dense layers in memory: 65 of 73 ms in operations are MUL_MAT, most of it FFN; no token waits.
    "fits/versions/1": ("time", "generation", ("92.1 MiB", "none of it is read", "MUL_MAT takes 87.0", "FFN"), "bytes"),
    # The same in 107.5 MiB: each of 7 tokens waits, untraced too, and reads the whole file, which it had read before.
    # Of its time 86.8 % is page faults, but in no more than 54.3 % is any read under way.
    "does-not-fit/versions/1": (
        "waiting",
        "generation",
        (
            "54.3 % of their time waiting for the disk",
            "98.3 % was needed again after it had been evicted",
            "77.7 MiB of memory",
        ),
        "memory",
    ),
    # It asks for experts: 4 of 16 of a layer serve well over the quarter that chance would; only the prompt waits.
    "hot-set/versions/1": (
        "experts",
        "generation",
        ("In part", "the 4 of 16 experts", "61.5 %", "25.0 % by chance", "4.12 MiB"),
        "waiting",
    ),
    # The dense model again, nothing recorded of the disk: 41 of 44 ms in operations are MUL_MAT.
    "sample/versions/1": ("time", "generation", ("92.1 MiB", "MUL_MAT takes 84.5", "FFN"), "bytes"),
    # A mixture that an earlier tracegen stored, without splits and reads: 47.5 % of tokens' time is work on MUL_MAT_ID.
    "earlier/runs/001": ("time", "generation", ("MUL_MAT_ID takes 47.5",), "bytes"),
}


@pytest.mark.parametrize("version", ANSWERS)
def test_the_answer_is_the_one_that_was_written_down(version: str, tmp_path: Path) -> None:
    if version.startswith("earlier"):
        loaded = load_run(put_together(1, tmp_path / version))
    else:
        loaded = load(EXPERIMENTS / version)
    assert isinstance(loaded, LoadedVersion | LoadedRun)
    context = Context(loaded.measured, loaded.tables)
    found = findings(context)
    kind, scope, words, also = ANSWERS[version]
    said, shortly = answer(context, found), quick(context)
    assert said is not None and (said.lead.kind, said.lead.scope) == (kind, scope) and said == shortly
    text = said.text.replace("\u202f", " ")
    assert [word for word in words if word not in text] == []
    assert also in {finding.kind for finding in found[1:5]}
    data = json.loads(json.dumps([finding.data for finding in found]))
    assert data[0]["amounts"][0]["value"] == said.lead.amounts[0].value
