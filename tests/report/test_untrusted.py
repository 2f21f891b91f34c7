"""Reports of hostile text, private runs and long names."""

import io
import re

import pandas as pd

from tests.builders import a_run, scaled_case
from tests.report.rendered import CASES, body, everything, rendered, words
from tracegen.publishing import privacy


def test_a_private_run_shows_no_text() -> None:
    secret = "my secret words"
    run = a_run(
        text=dict(prompt=secret, generated=secret, token_ids=[901, 902], private=True),
        settings=dict(prompt=secret, private=True),
        command=["llama-completion", "-p", secret],
    )
    report = rendered(privacy.public_tables(run, scaled_case(1, 1)), privacy.public_run(run), drawn=True)
    assert all(secret not in page.body for page in report.pages)
    assert all(secret.encode() not in content for content in report.files.values())
    assert "private" in words(body(report, "overview"))


def test_rows_that_are_withheld_are_not_rows_that_nobody_used() -> None:
    run = a_run(text=dict(prompt="?", generated="!", token_ids=[], private=True), settings=dict(private=True))
    report = rendered(privacy.public_tables(run, scaled_case(1, 1)), run)
    said = "Which rows or experts of token_embd.weight were touched is withheld, because the experiment is private."
    for page in ("file", "overview"):
        assert said in words(body(report, page)) and "is touched by no token" not in words(body(report, page))
    assert "weights touched per token withheld" in words(body(report, "overview"))
    assert report.values["touched_share"]["value"] is None
    assert report.values["n_tensors_never_touched"] == rendered(scaled_case(1, 1)).values["n_tensors_never_touched"]
    use = pd.read_csv(io.BytesIO(report.files["data/tensors-use.csv"])).set_index("name")
    assert use["touched_bytes"].isna().to_dict() == {name: name == "token_embd.weight" for name in use.index}
    assert (use["n_passes"] > 0)["token_embd.weight"]
    groups = pd.read_csv(io.BytesIO(report.files["data/tensor-groups.csv"])).set_index("group")
    assert groups["touched_bytes"].isna().sum() == 1


def test_a_long_name_is_shown_by_its_ends() -> None:
    tables = dict(CASES["dense"])
    name = "first" + "x" * 10_000 + "last"
    tensors = tables["tensors"]
    biggest = tensors["size_bytes"].idxmax()
    tables["tensors"] = tensors.assign(name=[name if i == biggest else n for i, n in tensors["name"].items()])
    text = everything(rendered(tables))
    cell = re.search(r'title="(first[^"]*)">([^<]*)<', text)
    assert cell and cell[1] == name and len(cell[2]) <= 120
    assert cell[2].startswith("firstxxx") and cell[2].endswith("xlast") and " … " in cell[2]
