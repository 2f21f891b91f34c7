"""Fields of prompts on the page of a matrix, as Markdown and JSON: what is said, of how many, and of hostile names."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tests.analysis.prompted import made, planted
from tests.analysis.routed import run_of
from tests.builders import a_run, scaled_case
from tests.comparing.made import counted, of_tables, run_with, slot
from tests.comparing.test_page import DENSE, HOSTILE, well_formed
from tests.pages.rendered import words
from tracegen.comparing import field_sentences as say
from tracegen.comparing.field_tables import FIXED, as_json, findings, markdown_of, specialists_table
from tracegen.comparing.fields import fields_of
from tracegen.comparing.matrix_page import render_matrix
from tracegen.comparing.side import Side

pytestmark = pytest.mark.usefixtures("empty_figures")
RANDOM = {"random_weights": True}
FILES = scaled_case(1, 1, moe=True)["files"]


def cells(choices: pd.DataFrame, n_runs: int = 1, **facts: Any) -> list[Side]:
    """A side for each prompt of the choices."""
    return [cell(prompt, of, n_runs, **facts) for prompt, of in choices.groupby("prompt", sort=False)]


def cell(prompt: Any, choices: pd.DataFrame, n_runs: int = 1, others: Any = (), **facts: Any) -> Side:
    """The runs of a prompt, whose measures are the choices alone."""
    ordered = choices.sort_values(["pass_id", "layer"], kind="stable")["expert"].to_numpy()
    shape = choices["pass_id"].nunique(), choices["layer"].nunique(), -1
    settings = {**a_run().facts["settings"], "prompt": f"The text of {prompt}"}
    facts = {"slot": slot(1, prompt=prompt, **dict(others)), "settings": settings, **facts}
    tables = run_of(None, ordered.reshape(shape), 8) | {"files": FILES}
    chosen = [
        counted(n, "times chosen", "expert", f"layer {layer}, expert {expert}")
        for (layer, expert), n in choices.groupby(["layer", "expert"]).size().items()
    ]
    runs = [replace(run_with(n, chosen, **facts), tables=lambda: tables) for n in range(n_runs)]
    return Side(f"prompt={prompt}", tuple(runs))


def silent(prompt: str) -> Side:
    """A prompt whose run generated nothing."""
    tables = run_of(None, None, 8)
    return Side(prompt, (replace(run_with(1, [], slot=slot(1, prompt=prompt)), tables=lambda: tables),))


def said(sides: Sequence[Side]) -> str:
    """All that the page says of fields: findings, caption, rows."""
    fields = fields_of(sides)
    assert fields is not None
    table = specialists_table(fields, lambda name, data: name)
    rows = [cell.text.replace(FIXED, " ") for row in table.rows for cell in row]
    return " ".join([*findings(fields), table.title, table.caption, table.reason, *rows])


def test_specialists_stand_first_with_what_they_were_counted_of() -> None:
    choices = planted(made(1, (4, 4)), {f"f0/{n}" for n in range(4)}, layer=1, expert=3, share=0.8)
    sides = cells(choices, 2)
    report = render_matrix("m", sides)
    well_formed(report.pages[0].body)
    text = words(report.pages[0].body)
    assert "2 experts belong to a field: expert 3 of layer 1 in f0, +80.0 points, p = 0.029; expert 4 " in text
    assert "n = 8 prompts in 2 fields, 120 generated tokens" in text and "Which experts belong to a field?" in text
    assert (
        "f0: 4 prompts, 60 tokens; f1: 4 prompts, 60 tokens" in text
        and "all 70 ways" in text
        and "repeats chose the same experts" in text
    )
    assert "Random weights" not in text and say.RANDOM not in text
    rows = list(csv.DictReader(io.StringIO(report.files["data/specialists.csv"].decode())))
    assert len(rows) == 2 * choices[["layer", "expert"]].drop_duplicates().shape[0]
    assert [row["specialist"] for row in rows] == ["True"] * 2 + ["False"] * (len(rows) - 2)
    assert (rows[0]["layer"], rows[0]["expert"], rows[0]["field"], float(rows[0]["effect"])) == ("1", "3", "f0", 0.8)
    assert report.files == render_matrix("m", sides).files


def test_without_a_specialist_the_largest_effects_say_why_not() -> None:
    choices = planted(made(2), {"f0/0", "f0/2"}, layer=1, expert=3)
    text = said(cells(choices, model=RANDOM))
    assert "No expert is shown to belong to a field" in text and "expert 3 of layer 1 in f0, +66.7 points" in text
    assert "no: f0/1 chose it at 0 %, f4 at 0 %" in text
    assert text.count(say.RANDOM) == 2 and "of 999 drawn ways" in text
    assert say.RANDOM not in said(cells(choices))


def test_too_few_prompts_are_no_absence() -> None:
    few = findings(fields_of(cells(made(1, (2, 2, 2)))))  # type: ignore[arg-type]
    assert few[0].startswith(
        "Which experts belong to a field cannot be told. The prompts are too few to tell: p cannot "
    )
    assert "cannot be below 0.2" in few[0] and "with 3 fields it takes 3 prompts in each" in few[0]
    report = render_matrix("m", cells(made(1, (1, 1, 1)), model=RANDOM))
    text = words(report.pages[0].body)
    assert "The model was never trained" in text and say.RANDOM in text
    assert "No field has two prompts beside two of other fields" in text and "name prompts FIELD/1, FIELD/2" in text
    assert "data/specialists.csv" not in report.files and "Experts of fields" not in text
    assert "All prompts are of one field" in findings(fields_of(cells(made(1, (3,)))))[0]  # type: ignore[arg-type]


def test_the_typical_run_counts_once_and_differing_repeats_are_named() -> None:
    choices = made(3)
    once, thrice = (fields_of(cells(choices, n)) for n in (1, 3))
    assert once and thrice
    pd.testing.assert_frame_equal(once.specialists.table, thrice.specialists.table)
    assert not once.repeated and thrice.repeated and not thrice.varying
    sides = cells(choices, 2)
    other = sides[0].runs[1].measures.copy()
    other.loc[other["by"] == "expert", "value"] += 1
    sides[0] = replace(sides[0], runs=(sides[0].runs[0], replace(sides[0].runs[1], measure=lambda: other)))
    varying = fields_of(sides)
    assert varying and varying.varying == ("f0/0",)
    assert "the repeats of 1 prompt chose differently" in said(sides)


def test_cells_of_other_factors_are_not_mixed() -> None:
    one, other = made(1), made(2)
    sides = [
        cell(p, of, others=[("threads", threads)])
        for threads, choices in (("1", one), ("2", other))
        for p, of in choices.groupby("prompt", sort=False)
    ]
    both, alone = fields_of(sides), fields_of(cells(one))
    assert both and alone and both.where == "threads=1"
    pd.testing.assert_frame_equal(both.specialists.table, alone.specialists.table)
    assert "Only cells with threads=1." in said(sides)


def test_who_chose_nothing_and_matrices_without_prompts() -> None:
    choices = made(1)
    sides = [*cells(choices)[:-1], silent("f4/2")]
    of = fields_of(sides)
    assert of and of.silent == ("f4/2",) and of.specialists.fields["n_prompts"].tolist() == [3, 3, 3, 3, 2]
    assert "1 prompt without a choice in generate passes left out" in said(sides)
    assert fields_of([silent("f4/2"), silent("f4/1")]) is None
    assert fields_of(cells(choices)[:1]) is None
    threads = [of_tables(n, DENSE, slot=slot(1, threads=n)) for n in "12"]
    assert fields_of(threads) is None


def test_a_prompt_without_a_name_is_a_field_of_its_own() -> None:
    choices = made(1, (2, 2))
    sides = [cell(p, of, settings={"prompt": p}) for p, of in choices.groupby("prompt", sort=False)]
    of = fields_of(sides)
    assert of and not of.named and of.specialists.fields["field"].tolist() == ["f0/0", "f0/1", "f1/0", "f1/1"]


def hostile(choices: pd.DataFrame) -> pd.DataFrame:
    """The same with names that no prompts.json may have, but a version from elsewhere may."""
    return choices.assign(prompt=HOSTILE + choices["prompt"])


def test_hostile_names_stay_text() -> None:
    choices = hostile(planted(made(1, (4, 4)), {f"f0/{n}" for n in range(4)}, layer=1, expert=3))
    sides = cells(choices, model=RANDOM)
    page = render_matrix("m", sides).pages[0]
    well_formed(page.body)
    assert "<script>alert" not in page.body and f"{HOSTILE}f0".partition("|")[2] in words(page.body)
    fields = fields_of(sides)
    assert fields is not None
    text = markdown_of(fields)
    assert "<script>" not in text and "@you" not in text and len(text.splitlines()) < 10
    json.dumps(as_json(fields), allow_nan=False)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 2, 3)])
def test_json_has_every_effect_in_plain_numbers(sizes: Sequence[int]) -> None:
    fields = fields_of(cells(made(1, tuple(sizes)), model=RANDOM))
    assert fields is not None
    document = json.loads(json.dumps(as_json(fields), allow_nan=False))
    assert [field["n_prompts"] for field in document["fields"]] == list(sizes)
    assert len(document["specialists"]) == len(fields.specialists.table) and document["random_weights"] is True
    assert document["findings"] == [line.replace("\u202f", " ").replace("\u2009", " ") for line in findings(fields)]
    for row in document["specialists"]:
        assert row["effect"] == pytest.approx(row["share"] - row["other_share"]) and isinstance(row["replicates"], bool)


def test_sentences() -> None:
    specialists = [(layer, 3, "law", 0.5, 0.011) for layer in range(5)]
    assert say.specialists(specialists, specialists[0], n="n", reason="", level=0.05).startswith(
        "5 experts belong to a field: expert 3"
    )
    assert "; and 2 more (n)." in say.specialists(specialists, specialists[0], n="n", reason="", level=0.05)
    assert say.specialists([], None, n="n = 3", reason="Why.", level=0.05).endswith("Why. N = 3.")
    why: dict[str, Any] = dict(tellable=True, margin=0.1, level=0.05, least=("a/1", 0.2), other=("b", 0.3))
    for stays, left_out, tells, said in (
        (False, 0.05, True, "+5.0 points without a/2"),
        (False, 0.2, True, "not when one prompt is left out"),
        (True, 0.2, True, "p is not below 0.05"),
        (True, 0.2, False, "too few prompts to tell"),
    ):
        text = say.why_none(**{**why, "tellable": tells}, replicates=True, stays=stays, left_out=("a/2", left_out))
        assert text.startswith(said)
    like: dict[str, Any] = dict(same=0.2, different=0.3, n_same=1, n_different=90, level=0.05)
    assert say.alike(**like, p=0.01, least=0.001).startswith("Prompts of one field choose more alike than others: ")
    assert "+10.0 points, p = 0.01" in say.alike(**like, p=0.01, least=0.001) and "(1 pair)" in say.alike(
        **like, p=0.01, least=0.001
    )
    assert "no more alike" in say.alike(**like, p=0.4, least=0.001)
    assert "cannot be told" in say.alike(**like, p=0.4, least=0.3)
    assert (say.points(-0.123), say.points(0.123)) == ("−12.3 points", "+12.3 points")
