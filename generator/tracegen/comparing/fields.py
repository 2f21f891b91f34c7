"""The experts that the prompts of a matrix choose, by field: what its page, Markdown and JSON say of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tracegen.analysis import experts
from tracegen.analysis.prompt_choices import COLUMNS
from tracegen.analysis.prompt_likeness import Likeness, likeness
from tracegen.analysis.significance import MARGIN
from tracegen.analysis.specialists import Specialists, specialists
from tracegen.comparing.effects import Effect, effects, factors_of
from tracegen.comparing.side import Measured, Side
from tracegen.contract.matrix import field_of
from tracegen.contract.model import cell_name

FACTOR = "prompt"


@dataclass(frozen=True)
class Fields:
    """What the prompts of a matrix chose.

    `where`: the values that the other factors have in the cells that count; empty if the prompt is the only factor.
    `silent`: prompts that chose no expert in a generate pass. `varying`: prompts whose repeats chose differently.
    `repeated`: whether some cell has several runs. `random`: whether the weights of a model are random. `hidden`:
    whether the names of prompts are private.
    """

    specialists: Specialists
    likeness: Likeness | None
    where: str
    silent: tuple[str, ...]
    varying: tuple[str, ...]
    repeated: bool
    random: bool
    hidden: bool

    @property
    def named(self) -> bool:
        """Whether some field has several prompts."""
        return bool((self.specialists.fields["n_prompts"] > 1).any())


def effects_and_fields(sides: Sequence[Side], margin: float = MARGIN) -> tuple[list[Effect], Fields | None]:
    """The effects of a matrix, and the choices by field; prompts that have fields are not compared one by one."""
    fields = fields_of(sides)
    by_field = fields is not None and fields.named
    return effects(sides, margin, leave_out=FACTOR if by_field else ""), fields


def fields_of(sides: Sequence[Side]) -> Fields | None:
    """The choices by field of the cells that differ in the prompt; None without two prompts, or without any choice.

    One run of each cell counts, the typical one, which is that of its version: runs with the same settings choose
    alike, and to count the repeats would make tokens of one. Of cells with the same prompt, those count that agree in
    all other factors; of several such groups the first with most prompts.
    """
    if FACTOR not in factors_of(sides):
        return None
    groups: dict[tuple[tuple[str, str], ...], dict[str, Side]] = {}
    for side in sides:
        factors = side.typical.factors
        others = tuple((name, value) for name, value in factors.items() if name != FACTOR)
        if FACTOR in factors:
            groups.setdefault(others, {}).setdefault(factors[FACTOR], side)
    others, cells = max(groups.items(), key=lambda group: len(group[1]))
    found = {prompt: _choices(prompt, side.typical) for prompt, side in cells.items()}
    rows = pd.concat(list(found.values()), ignore_index=True)
    if len(cells) < 2 or rows.empty:
        return None
    varies = {name for name, values in factors_of(sides).items() if len(values) > 1}
    return Fields(
        specialists=specialists(rows),
        likeness=likeness(rows),
        where=cell_name({name: value for name, value in others if name in varies}),
        silent=tuple(prompt for prompt, of in found.items() if of.empty),
        varying=tuple(prompt for prompt, side in cells.items() if _varies(side)),
        repeated=any(len(side.runs) > 1 for side in cells.values()),
        random=any(side.typical.fact("model", "random_weights") is True for side in cells.values()),
        hidden=any(side.typical.fact("settings", "private") is True for side in cells.values()),
    )


def _choices(prompt: str, run: Measured) -> pd.DataFrame:
    """The choices of the generate passes of a run, as `prompt_choices` counts them."""
    text = run.fact("settings", "prompt")
    rows = experts.generated(run.tables())
    return rows.assign(prompt=prompt, field=field_of(prompt, text if isinstance(text, str) else None))[COLUMNS]


def _varies(side: Side) -> bool:
    """Whether the runs of a cell chose some expert more or less often: then they generated other tokens."""
    of = [run.measures for run in side.runs]
    chosen = [m.loc[m["by"] == "expert", ["item", "value"]].set_index("item")["value"].to_dict() for m in of]
    return any(other != chosen[0] for other in chosen[1:])
