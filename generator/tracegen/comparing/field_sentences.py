"""Fields of prompts in words: whether experts belong to one, why an expert does not, and how alike prompts choose."""

from collections.abc import Sequence

from tracegen.contract import quantities as q
from tracegen.report.words import expert_chance_sentences

RANDOM = (
    "With random weights the field of a text means nothing to the model: what is found here is no domain expertise."
)
MOST_NAMED = 3  # specialists
HIDDEN = "The names of prompts are private here, and with them their fields."


def points(part: float) -> str:
    """`+12.3 points`, from a difference of shares."""
    return f"{expert_chance_sentences.points(part)} points"


def sizes(n_prompts: int, n_fields: int, n_tokens: int) -> str:
    """`n = 15 prompts in 5 fields, 225 tokens`."""
    counts = (q.counted(n_prompts, "prompt"), q.counted(n_fields, "field"), q.counted(n_tokens, "generated token"))
    return f"n = {counts[0]} in {counts[1]}, {counts[2]}"


def needed(n_fields: int, prompts: int | None) -> str:
    """How many prompts a design needs: `With 2 fields it takes 4 prompts in each`."""
    return f"with {q.counted(n_fields, 'field')} it takes {q.count(prompts)} prompts in each" if prompts else ""


def cannot_tell(*, n_fields: int, several: bool, least: float | None, level: float, prompts: int | None) -> str:
    """Why no specialist can be shown; `several`: some field has two prompts and two others are there."""
    if n_fields < 2:
        return "All prompts are of one field: there is no other to hold it against."
    if not several:
        return (
            "No field has two prompts beside two of other fields, so nobody can know whether an expert belongs to a "
            f"field or to one text: name prompts FIELD/1, FIELD/2, …; {needed(n_fields, prompts)}."
        )
    least_p = f" p cannot be below {least:.2g}, whatever the prompts choose, and would have to be below {level:g};"
    return f"The prompts are too few to tell:{least_p if least is not None else ''} {needed(n_fields, prompts)}."


def why_none(
    *,
    replicates: bool,
    stays: bool,
    tellable: bool,
    margin: float,
    level: float,
    least: tuple[str, float],
    other: tuple[str, float],
    left_out: tuple[str, float],
) -> str:
    """Why an effect makes no specialist: the first condition that fails. Each pair is a name and a share or effect."""
    if not replicates:
        return f"{least[0]} chose it at {q.percent(least[1])}, {other[0]} at {q.percent(other[1])}"
    if not stays and left_out[1] < margin:
        return f"{points(left_out[1])} without {left_out[0]}"
    if not stays:
        return "not when one prompt is left out"
    return f"p is not below {level:g}" if tellable else "too few prompts to tell"


Specialist = tuple[int, int, str, float, float]  # layer, expert, field, effect, p


def specialists(found: Sequence[Specialist], best: Specialist | None, *, n: str, reason: str, level: float) -> str:
    """The finding: which experts belong to a field, none, or why nobody can know (`reason`).

    `best`: the largest effect, if any was counted.
    """
    if reason:
        return f"Which experts belong to a field cannot be told. {reason} {n[0].upper()}{n[1:]}."
    if not found:
        largest = f" The largest effect: {_expert(best)}." if best else ""
        return (
            "No expert is shown to belong to a field: none is chosen more by every prompt of a field, whichever prompt "
            f"is left out, with p below {level:g} ({n}).{largest}"
        )
    more = f"; and {q.count(len(found) - MOST_NAMED)} more" if len(found) > MOST_NAMED else ""
    first = "One expert belongs" if len(found) == 1 else f"{q.count(len(found))} experts belong"
    return f"{first} to a field: {'; '.join(_expert(of) for of in found[:MOST_NAMED])}{more} ({n})."


def _expert(of: Specialist) -> str:
    layer, expert, field, effect, p = of
    return f"expert {expert} of layer {layer} in {field}, {points(effect)}, {q.p_words(p)}"


def alike(*, same: float, different: float, n_same: int, n_different: int, p: float, least: float, level: float) -> str:
    """Whether prompts of one field choose experts more alike than prompts of different fields."""
    pairs = (
        f"the distance of two prompts is {q.percent(same)} in one field ({q.counted(n_same, 'pair')}), "
        f"{q.percent(different)} between fields ({q.counted(n_different, 'pair')}), {points(different - same)}"
    )
    if least >= level:
        return (
            f"Whether prompts of one field choose more alike cannot be told with so few of them: {pairs}; p cannot be "
            f"below {least:.2g}."
        )
    more = "Prompts of one field choose more alike" if p < level else "Prompts of one field choose no more alike"
    return f"{more} than others: {pairs}, {q.p_words(p)}."
