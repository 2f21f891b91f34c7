"""What llama.cpp asks the kernel to read ahead: of a table that stays mapped, the rows of the tokens of each pass."""

import pandas as pd
import pytest

from tests import random_models
from tests.random_files import write_random_model
from tracegen.analysis import asked_ahead, explicit_reads
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import Build
from tracegen.measure.runs.measure import measure
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.storing.progress import Progress

pytestmark = pytest.mark.llama
PAGE = 4096
TABLE = "per_layer_token_embd.weight"


@pytest.fixture(scope="module")
def loaded(hooked: Build, tmp_path_factory: pytest.TempPathFactory) -> LoadedRun:
    place = tmp_path_factory.mktemp("ahead")
    model = write_random_model(random_models.GEMMA4, place / "gemma4.gguf", "Q8_0")
    asked = Experiment(
        "ahead",
        "Which rows are read ahead?",
        str(model),
        "The capital of France",
        6,
        context=256,
        page_cache="cold",
        prefault=False,
        faults=True,
        load_mode="none",
        lazy_mode="on",
    )
    run = measure(asked, place, Progress(), str(hooked.programs))
    assert run.folder is not None
    return load_run(run.folder)


def asked_for(loaded: LoadedRun) -> tuple[pd.DataFrame, set[int]]:
    """The calls that asked, and the pages of the file that they asked for."""
    reads = loaded.tables["reads"]
    asked = reads[reads["call"].eq("madvise").to_numpy(bool)]
    ends = asked["offset"] + asked["size_bytes"]
    return asked, {
        page for begin, end in zip(asked["offset"], ends, strict=True) for page in range(begin // PAGE, end // PAGE)
    }


def test_pages_asked_for_are_those_of_the_rows_of_tokens(loaded: LoadedRun) -> None:
    (table,) = loaded.tensors[loaded.tensors["name"].eq(TABLE).to_numpy(bool)].to_dict("records")
    row_bytes = table["size_bytes"] // table["ne1"]
    rows = set(loaded.tables["tokens"]["token_id"].dropna().astype(int))
    wanted = {
        page
        for row in rows
        for page in range(
            (table["offset"] + row * row_bytes) // PAGE, -(-(table["offset"] + (row + 1) * row_bytes) // PAGE)
        )
    }
    asked, pages = asked_for(loaded)
    assert len(asked) >= 6 and wanted <= pages and not (asked["offset"] % PAGE).any()
    others = loaded.tensors.sort_values("offset")["offset"]
    inside = others[others.ge(table["offset"]).to_numpy(bool)].head(2)
    assert min(pages) >= table["offset"] // PAGE and max(pages) <= inside.iloc[-1] // PAGE  # a padding row at most more


def test_each_page_was_in_time_too_late_or_never_used(loaded: LoadedRun) -> None:
    table = explicit_reads.by_call(loaded.tables).set_index("call")
    _, pages = asked_for(loaded)
    parts = table.loc["madvise", [*asked_ahead.COLUMNS]]
    assert parts.sum() == PAGE * len(pages) and parts["in_time_bytes"] > 0


def test_other_weights_were_read(loaded: LoadedRun) -> None:
    assert next(check for check in loaded.run.checks if check.key == "reads").state == "passed"
    assert not [check for check in loaded.run.checks if check.state == "failed" and check.key != "tracing_cost"]
