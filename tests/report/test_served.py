"""What is said of prompts that were computed again: the cause that took most time, and what would have kept them."""

from collections.abc import Callable

import pytest

from tests.analysis.test_served import ALIKE
from tests.builders import a_run, scaled_case
from tests.builders.served import PASS_NS, Served
from tracegen.report.figures.context import Context
from tracegen.report.figures.served import PROMPT_SLOTS, PROMPTS
from tracegen.report.findings import served


def context(of: Served, program: str = "llama-server") -> Context:
    return Context(a_run(command=[program, "-m", "model.gguf"]), of.tables(scaled_case(1, 1)))


def to_another_slot(of: Served) -> None:
    of.prompt(0, [*ALIKE, 1, 2], 0, [3])
    of.prompt(1, [*ALIKE, 5, 6, 7], 0, [8])


def not_kept(of: Served) -> None:
    of.prompt(0, ALIKE, 0, [3])
    of.prompt(0, ALIKE, 0, [3])


def replaced(of: Served) -> None:
    of.prompt(0, [*ALIKE, 1, 2], 0, [3])
    of.prompt(0, list(range(60)), 0, [3])
    of.prompt(0, [*ALIKE, 1, 9], 0, [3])


def changed(of: Served) -> None:
    of.prompt(0, [1, 2, *ALIKE, 50], 0, [3])
    of.prompt(0, [1, 9, *ALIKE, 60], 1, [3])


def busy(of: Served) -> None:
    of.compute((0, 0, ALIKE, 1))
    of.compute((0, 40, [1], 1), (1, 0, ALIKE, 1))
    of.compute((0, 41, [2], 1), (1, 40, [4], 1))


@pytest.mark.parametrize(
    ("play", "says", "advises"),
    [
        (to_another_slot, "For 1 of 2 prompts, another slot held these tokens.", "`id_slot`"),
        (not_kept, "For 1 of 2 prompts, their own slot held these tokens", "cache_prompt"),
        (
            replaced,
            "For 1 of 3 prompts, these tokens had lain in a slot that later prompts then took.",
            "`--cache-ram N`",
        ),
        (changed, "these tokens follow a change in the text", "at the end of a prompt"),
        (busy, "another slot held these tokens, which was busy then.", "`--slot-prompt-similarity`"),
    ],
)
def test_the_cause_and_what_would_have_kept_them(play: Callable[[Served], None], says: str, advises: str) -> None:
    of = Served()
    play(of)
    (finding,) = served.findings(context(of))
    assert says in finding.text and advises in finding.text
    (other,) = served.findings(context(of, "my-server"))
    assert says in other.text and ("`" in other.text) is False


def test_the_time_is_that_of_the_tokens_that_were_computed_again() -> None:
    of = Served()
    to_another_slot(of)
    (finding,) = served.findings(context(of))
    again, whole = (amount.value for amount in finding.amounts)
    assert again == PASS_NS * 40 // 43 and whole == 2 * PASS_NS and finding.effect == again / whole


def test_little_is_not_said() -> None:
    of = Served()
    of.prompt(0, [*range(500, 599), 1], 0, [3])
    of.prompt(1, [*range(500, 504), *range(200, 296)], 0, [3])  # 4 of 200 tokens
    assert list(served.findings(context(of))) == []


def test_the_table_says_for_which_prompt_and_where_its_tokens_lay() -> None:
    of = Served()
    replaced(of)
    to_another_slot(of)
    rows = PROMPTS.content(context(of))
    text = [[cell.text for cell in row] for row in rows.rows]
    heads = [head.label for head in rows.head]
    lay = [row[heads.index("Computed for")] for row in text]
    assert lay[2] == "prompt 0: no slot any more" and lay[3].startswith("prompt 2: its slot")
    assert lay[4].startswith("prompt 3: slot 0")
    assert len(PROMPT_SLOTS.content(context(of)).data["slot"].unique()) == 2
