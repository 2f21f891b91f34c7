"""Reports of models with experts: what is said of what tokens chose."""

import io
import re

import pandas as pd

from tests.builders import a_moe_run, scaled_case
from tests.recompute.published import handed_over
from tests.report.rendered import CASES, body, everything, rendered, words


def test_experts_are_drawn_for_a_mixture_only() -> None:
    """What stands where there is nothing to draw: test_expert_chance.py."""
    drawn = {f.key: f.page for f in rendered(CASES["experts"], a_moe_run()).figures}
    assert {key for key, page in drawn.items() if page == "experts"} == {
        "experts",
        "experts-load",
    }
    assert {"experts-tokens", "experts-cover", "experts-sticky", "experts-weights"} <= {
        key for key, page in drawn.items() if page == "appendix"
    }
    assert "experts" not in {page.key for page in rendered(CASES["dense"]).pages}
    assert "it only loaded the model" in words(body(rendered(CASES["only a load"]), "file"))


def test_the_overview_of_a_mixture_says_how_its_experts_were_chosen() -> None:
    tables = CASES["experts"]
    generate = tables["passes"].loc[tables["passes"]["kind"] == "generate", "pass_id"]
    rows = tables["routing"][tables["routing"]["pass_id"].isin(generate)]
    layers, n_experts = rows["layer"].nunique(), 8
    never = layers * n_experts - len(rows[["layer", "expert"]].drop_duplicates())
    text = words(body(rendered(tables, a_moe_run()), "overview"))
    assert (
        f"12.5 % if chosen evenly). {never} of {layers * n_experts} experts in {layers} layers were never chosen."
        in re.sub(r" and [\d.]+ % if as many tokens choose at random", "", text.replace("\u202f", " "))
    )
    assert "never chosen" not in words(body(rendered(CASES["dense"]), "overview"))


def test_a_line_of_experts_is_named_by_the_output_token_of_its_pass() -> None:
    """Pass 3 has input token 0, which chooses the experts, and output token 1; token 3, the last, is input of none."""
    tables = scaled_case(3, 2, moe=True)
    run = a_moe_run(text=dict(prompt="?", generated="!", token_ids=[11, 42, 7, 5], private=False))
    report = rendered(tables, run, drawn=("experts-tokens",))
    rows = pd.read_csv(io.BytesIO(report.files["data/experts-of-tokens.csv"]))
    assert dict(zip(rows["pass_id"], rows["generated_token"], strict=True)) == {3: 0, 4: 1, 5: 2}
    page = words(everything(report))
    assert re.search(r"Output token Input token Pass Experts Weights 1 0 3 [\d, ]+ 0\.700, 0\.300 2 1 4 ", page)
    assert "The last generated token, 3, is the input of no pass: it chose no expert." in page
    drawn = next(f for f in report.figures if f.key == "experts-tokens")
    assert [f"token {k}" in report.files[drawn.path_svg].decode() for k in range(4)] == [False, True, True, True]
    assert handed_over(report.files["data/experts/0.js"].decode())[0]["token"] == [0, 1, 2]
    given = pd.read_csv(io.BytesIO(report.files["data/generated-tokens.csv"]))
    assert given.pop("text").isna().all()  # the run has no text of tokens
    assert given.to_dict("list") | {"held_by_pass": given["held_by_pass"].tolist()[:-1]} == {
        "token": [0, 1, 2, 3],
        "token_id": [11, 42, 7, 5],
        "pass_id": [2, 3, 4, 5],
        "held_by_pass": [3, 4, 5],
    }
    assert given["held_by_pass"].isna().tolist() == [False, False, False, True]
    assert "no recorded pass took in" in words(body(report, "method"))
    for said in (
        "Pass 2: prompt, 6 tokens, output token 0,",
        "Pass 3: generate, 1 token, input token 0, output token 1,",
    ):
        assert said in body(report, "operations")


def test_what_a_row_holds_that_nobody_knows_is_not_guessed() -> None:
    """After rows of several sequences: the pass names the row, and no token."""
    tables = scaled_case(2, 1, moe=True)
    unknown = pd.array([None] * len(tables["passes"]), dtype="Int32")
    tables["passes"] = tables["passes"].assign(produced_token=unknown)
    tables["tokens"] = tables["tokens"].assign(generated_token=pd.array([None] * len(tables["tokens"]), dtype="Int32"))
    report = rendered(tables, a_moe_run(), drawn=("experts-tokens",))
    page = words(everything(report))
    assert "not recorded 3 " in page and "pass 3" in page and "The last generated token" not in page
    assert ", input token" not in body(report, "operations")


def test_experts_of_a_token_stand_by_weight_and_not_as_a_biased_router_chose_them() -> None:
    tables = scaled_case(1, 1, moe=True)
    routing = tables["routing"]
    tables["routing"] = routing.assign(weight=routing["weight"].map({0.7: 0.1, 0.3: 0.4}).astype("Float64"))
    chosen = routing[routing["pass_id"] == 3].sort_values("rank")["expert"].tolist()
    report = rendered(tables, a_moe_run())
    page = words(everything(report))
    assert f"1 0 3 {chosen[1]}, {chosen[0]} 0.400, 0.100" in page
    assert "0.400 mean weight of a token’s strongest expert" in page
    assert f'"by_weight":true,"experts":[[{chosen[1]},{chosen[0]}]]' in report.files["data/experts/0.js"].decode()
    unweighted = tables | {"routing": routing.assign(weight=pd.array([None] * len(routing), dtype="Float64"))}
    report = rendered(unweighted, a_moe_run(text=dict(prompt="?", generated="!", token_ids=[], private=True)))
    assert f'"by_weight":false,"experts":[[{chosen[0]},{chosen[1]}]]' in report.files["data/experts/0.js"].decode()
    page = words(everything(report))
    assert "the experiment is private" in page and "in llama.cpp’s order" in page
