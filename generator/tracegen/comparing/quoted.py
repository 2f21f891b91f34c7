"""What a journal quotes of a comparison: `{{ a@v1~b@v2:tokens_per_second_generate:p }}`."""

from tracegen.comparing import sentences as say
from tracegen.comparing.comparison import Compared, Comparison
from tracegen.comparing.rules import NAMES
from tracegen.contract import quantities as q

WHOLE = "change"  # the part that is meant where none is named


def values(comparison: Comparison) -> dict[str, dict[str, str]]:
    """The parts of each key figure that both sides have.

    `change` has both medians and what the comparison shows; `a`, `b` the medians, `range_a`, `range_b` the least and
    largest run; `n` the runs, `verdict` what is shown; of timed ones, as far as known, `shift`, `interval` and `p`.
    """
    rows = {name: comparison.known(name) for name in NAMES}
    return {name: _parts(row, comparison.margin) for name, row in rows.items() if row}


def _parts(row: Compared, margin: float) -> dict[str, str]:
    a, b = (say.value(number, row.unit) for number in (row.a, row.b))
    parts = {"a": a, "b": b, "n": say.runs(row), "verdict": say.state(row, margin)}
    for side, of in (("a", row.values_a), ("b", row.values_b)):
        parts[f"range_{side}"] = f"{say.value(min(of), row.unit)} to {say.value(max(of), row.unit)}"
    shift, ends = say.effect(row)
    of_test = {"shift": shift, "interval": ends, "p": q.p_words(row.difference.p_adjusted) if row.difference else ""}
    whole = f"{say.medians(row)} ({say.certainty(row, margin)})"
    return parts | {name: text for name, text in of_test.items() if text} | {WHOLE: whole}
