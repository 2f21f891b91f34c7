"""Reports of hostile text, private runs and long names."""

import io
import re

import pandas as pd

from tests.builders import a_moe_run, a_run, scaled_case
from tests.report.rendered import CASES, Tags, body, everything, rendered, words
from tracegen.contract.model import Check
from tracegen.publishing import privacy

HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(1)</script>\u2028\x1b[31m\"'&"


def hostile_tables() -> dict[str, pd.DataFrame]:
    tables = scaled_case(2, 2, moe=True)
    for name, column in (("graph_nodes", "name"), ("tensors", "name"), ("files", "path"), ("buffers", "name")):
        values = [f"{HOSTILE}{i}" for i in range(len(tables[name]))]
        tables[name] = tables[name].assign(**{column: pd.array(values, dtype=tables[name][column].dtype)})
    nodes = tables["graph_nodes"]
    tables["graph_nodes"] = nodes.assign(
        op=nodes["op"].astype("object").mask(nodes["op"] == "ADD", HOSTILE).astype("category")
    )
    return tables


def test_hostile_text_stays_text() -> None:
    run = a_run(
        checks=(Check("dropped_events", HOSTILE, "failed", HOSTILE, HOSTILE, HOSTILE),),
        settings={HOSTILE: HOSTILE, "question": HOSTILE},
        command=[HOSTILE],
        text=dict(prompt=HOSTILE, generated=HOSTILE, token_ids=[1, 2], private=False),
        model=dict(
            file=HOSTILE,
            name=HOSTILE,
            architecture=HOSTILE,
            random_weights=False,
            origin=HOSTILE,
            licence=HOSTILE,
            metadata={HOSTILE: [HOSTILE]},
        ),
    )
    for checked in (run, a_moe_run(settings=run.facts["settings"])):
        report = rendered(hostile_tables(), checked, drawn=checked is run)
        for page in report.pages:
            tags = Tags(page.body)
            assert "img" not in tags.tags and not tags.handlers
            assert not [t for t in re.findall(r"<script[^>]*>", page.body) if "application/json" not in t]
            assert "\x1b" not in page.body
        for name, content in report.files.items():
            if name.endswith((".js", ".svg")):
                assert b"<script" not in content and b"<img" not in content and "\u2028".encode() not in content


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
