"""Titles say what was found, and of which passes."""

import pandas as pd

from tests.builders import a_run, only, scaled_case
from tests.report.rendered import CASES, body, rendered, words
from tracegen.report.figures.heatmap import most_untouched


def titles(case: str, page: str) -> str:
    return words(body(rendered(CASES[case], a_run()), page))


def test_titles_name_the_phase_or_the_whole_run() -> None:
    assert "Which operations take most time in generation?" in titles("dense", "operations")
    prompt = only(scaled_case(5, 2), ("prompt",))
    assert "Which operations take most time in the prompt?" in words(body(rendered(prompt), "operations"))
    assert "How much do the runtime’s buffers hold in the whole run?" in titles("dense", "file")


def test_the_part_that_is_not_touched_is_a_tensor_or_else_a_group() -> None:
    def use(*touched: int) -> pd.DataFrame:
        names = ["token_embd.weight", "blk.0.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight"]
        kinds = ["embedding", "expert_up", "expert_up"]
        return pd.DataFrame({"name": names, "component": kinds, "size_bytes": [100] * 3, "touched_bytes": touched})

    assert most_untouched(use(20, 90, 90)) == ("token_embd.weight", 0.8)
    assert most_untouched(use(60, 60, 60)) == ("experts", 80 / 120)
    assert most_untouched(use(100, 100, 100)) == most_untouched(use(0, 0, 0)[:0]) == ("", 0.0)
