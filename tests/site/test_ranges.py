"""The range of a figure over the runs of a version: what `data/repeats.csv` gives the site, and what it does not."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from markdown import markdown

from tests.many_experiments import a_full_report
from tests.site.test_index import VALUES, facts, index_of, measures_of, text_of
from tests.stand_in import a_version
from tracegen.analysis.measures import COLUMNS
from tracegen.publishing import repeats
from tracegen.publishing.bundle import read_bundle
from tracegen.publishing.repeats import values_of_runs
from tracegen.publishing.versions import read_published
from tracegen.site import journal, references
from tracegen.site.about import About, Range, range_of
from tracegen.site.thesis.documents import documents
from tracegen.site.thesis.findings import findings_of
from tracegen.site.thesis.numbers import typed_numbers

RATE = "tokens_per_second_generate"
HEAD = "run,created,key,phase,by,item,label,kind,unit,value"


def repeats_csv(speeds: Sequence[float], touched: Sequence[int] = ()) -> str:
    """The file as tracegen writes it, by hand: a few measures of each run, among them some that are no key figure."""
    rows = [HEAD]
    for i, speed in enumerate(speeds):
        begin = f"run-{i + 1:03d},2026-11-20T12:00:{i:02d}Z"
        rows += [
            f"{begin},{RATE},generate,run,,generation speed,timed,tokens/s,{speed}",
            f"{begin},tokens_per_second_prompt,prompt,run,,prompt speed,timed,tokens/s,4000",
        ]
        rows += [f'{begin},"op_MUL_MAT_""x""",generate,op,"MUL_MAT, ""x""",time per token,timed,ns,1e5']
        rows += [f"{begin},layer_0,generate,layer,layer 0,speed,timed,tokens/s,7"]
        if touched:
            rows += [f"{begin},touched_share,,run,,share of the file touched,counted,share,{touched[i] / 1000}"]
        rows += [f"{begin},peak_buffer_bytes,,run,,peak buffer memory,counted,bytes,2097152.0"]
    return "\n".join([*rows, ""])


def a_repeated(experiments: Path, text: str | None, rate: float | None = 12.0, number: int = 1) -> About:
    """A version with this file, published for real; its own run has the speed `rate`."""
    values = {**VALUES, RATE: (rate, f"{rate:g} tokens/s" if rate else "not shown")}
    report = a_full_report(facts(), values=values)
    if text is not None:
        report = replace(report, files={**report.files, repeats.MEASURES: text.encode("utf-8", "surrogateescape")})
    version = a_version(experiments, number=number, report=report)
    assert version.folder
    return About(read_bundle(version.folder))


def test_the_file_is_read_by_columns_that_measures_have() -> None:
    assert HEAD.split(",") == ["run", "created", *COLUMNS]


def test_a_figure_over_the_runs_of_a_version(tmp_path: Path) -> None:
    about = a_repeated(tmp_path, repeats_csv([14.0, 9.5, 11.0, 10.0], [500, 520, 500, 510]))
    speed, share = about.range(RATE), about.range("touched_share")
    assert speed is not None and (speed.median, speed.least, speed.most, speed.n) == (10.5, 9.5, 14.0, 4)
    assert (speed.text, speed.words) == ("10.5 tokens/s", "9.50 to 14.0 in 4 runs")
    assert share is not None and (share.text, share.words) == ("50.5 %", "50.0 % to 52.0 % in 4 runs")
    assert about.typical_text(RATE) == "10.5 tokens/s"
    buffers = about.range("peak_buffer_bytes")
    assert buffers is not None and (buffers.text, buffers.words) == ("2.00 MiB", "the same in 4 runs")
    assert about.range("bytes_touched_per_token") is None and about.typical_text("bytes_touched_per_token") == "1000 B"


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        HEAD,
        "a,b\n1,2\n",
        repeats_csv([12.0]),  # one run is not a range
        repeats_csv([1.0, 2.0]).replace("value", "number", 1),
        repeats_csv([1.0, 2.0]).replace("tokens/s,1.0", "tokens/s,fast"),
        repeats_csv([1.0, 2.0]).replace("tokens/s,1.0", "tokens/s,nan"),
        repeats_csv([1.0, 2.0]).replace("tokens/s,1.0", "tokens/s,1e999"),
        repeats_csv([1.0, 2.0]).replace("tokens/s,1.0", "tokens/s,-1"),
        repeats_csv([1.0, 2.0]).replace(",tokens/s,1.0", ""),
        repeats_csv([1.0, 2.0]).replace("tokens_per_second_prompt", RATE),  # a measure twice
        repeats_csv([1.0, 2.0]) + '"',
        repeats_csv([1.0, 2.0]) + "\udcff",
        repeats_csv([1.0, 2.0]) + "x" * 200_000,
    ],
)
def test_another_file_is_a_single_run(tmp_path: Path, text: str | None) -> None:
    about = a_repeated(tmp_path, text)
    assert about.range(RATE) is None
    assert about.typical_text(RATE) == "12 tokens/s"


def test_columns_may_stand_in_another_order_beside_new_ones(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / repeats.MEASURES).write_text(
        f"value,unit,key,machine,by,created,run\n3,tokens/s,{RATE},x,run,t1,run-001\n5,tokens/s,{RATE},x,run,t2,run-002\n"
    )
    bundle = read_bundle(a_repeated(tmp_path / "e", None).bundle.folder)
    bundle = replace(bundle, folder=tmp_path, document={**bundle.document, "manifest": {repeats.MEASURES: {}}})
    assert range_of(RATE, values_of_runs(bundle)) == Range(RATE, "tokens/s", 2, 4.0, 3.0, 5.0)
    (tmp_path / repeats.MEASURES).unlink()
    assert values_of_runs(bundle) == []


def test_the_card_has_the_median_and_the_range(tmp_path: Path) -> None:
    a_repeated(tmp_path / "experiments", repeats_csv([14.0, 9.5, 11.0]), rate=14.0)
    html = index_of(tmp_path)
    assert "median 11.0 tokens/s (9.50 to 14.0 in 3 runs)" in text_of(html)
    assert "goes from the least to the most" in html


def test_the_table_of_versions_has_medians_and_ranges(tmp_path: Path) -> None:
    experiments = tmp_path / "experiments"
    a_repeated(experiments, None, rate=10.0, number=1)
    a_repeated(experiments, repeats_csv([8.0, 12.0, 20.0]), rate=20.0, number=2)
    a_repeated(experiments, repeats_csv([6.0, 6.0]), rate=6.0, number=3)
    assert [row[:2] for row in measures_of(tmp_path)] == [
        ["v3", "6.00 tokens/s / the same in 2 runs"],
        ["v2", "12.0 tokens/s / 8.00 to 20.0 in 3 runs"],
        ["v1", "10 tokens/s"],
    ]


def test_a_journal_quotes_the_median_of_several_runs(tmp_path: Path) -> None:
    a_repeated(tmp_path, repeats_csv([14.0, 9.5, 11.0, 10.0]))
    quoted = quoting(tmp_path)
    assert '= 10.5 1, the median: 9.50 to 14.0 in 4 runs"><data value="10.5">10.5 tokens/s<' in quoted(RATE)
    assert '<data value="10.5">9.50 to 14.0 in 4 runs<' in quoted(f"{RATE}:range")
    assert f'{RATE} = 12.0 1"><data value="12.0">12 tokens/s<' in quoted(f"{RATE}: run")
    assert f"{RATE} has no 'mean'; it has run and range" in quoted(f"{RATE}:mean")


def test_a_journal_quotes_no_median_of_a_value_that_is_not_shown(tmp_path: Path) -> None:
    a_repeated(tmp_path, repeats_csv([14.0, 9.0, 12.0]), rate=None)
    quoted = quoting(tmp_path)
    assert ">not shown<" in quoted(RATE) and f"{RATE} has no 'range'; it has run" in quoted(f"{RATE}:range")


def test_a_check_compares_what_the_journal_quotes(tmp_path: Path) -> None:
    """Two versions draw runs of one speed; their medians differ."""
    for number, speeds in ((1, [11.0, 12.0, 13.0]), (2, [12.0, 13.1, 14.0])):
        a_repeated(tmp_path, repeats_csv(speeds), number=number)
    known = references.references(read_published(tmp_path / "sample", None))
    (tmp_path / "entry.md").write_text(
        f"{{{{ sample@v1:{RATE} }}}}\n\n{{{{ sample@v1:{RATE}: run }}}}\n\n{{{{ sample@v1:{RATE}:x }}}}\n\n"
        "In sample@v2 it is 13.1 tokens/s.\n"
    )
    (document,) = documents([tmp_path / "entry.md"])
    assert [(one.state, "13.1" in one.why) for one in findings_of(known, document)][:3] == [
        ("superseded, another number", True),
        ("superseded", False),
        ("unknown", False),
    ]
    (typed,) = typed_numbers(known, document)
    assert typed.state == "typed by hand" and typed.why == f"write {{{{ sample@v2:{RATE} }}}}"


def quoting(experiments: Path) -> Callable[[str], str]:
    known = references.references(read_published(experiments / "sample", None))
    extension = journal.makeExtension(references=known)
    return lambda value: markdown(f"{{{{ sample@v1:{value} }}}}", extensions=[extension])


def test_it_loads_no_pandas(tmp_path: Path) -> None:
    a_repeated(tmp_path / "experiments", repeats_csv([1.0, 2.0]), number=1)
    a_repeated(tmp_path / "experiments", repeats_csv([1.0, 3.0]), number=2)
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom tracegen.site import gather\n"
        "site = gather.gather(Path('experiments'), Path('cache'))\n"
        "html = site.pages['experiments/sample/index.md'].content()\n"
        "print(json.dumps(['1.00 to 3.00 in 2 runs' in html, 'pandas' in sys.modules]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert json.loads(ended.stdout) == [True, False]
