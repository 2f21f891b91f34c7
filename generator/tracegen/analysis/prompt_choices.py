"""The choices of experts of several prompts, as counts: one row a prompt, one column an expert of a layer.

A choice is a row of a frame with the columns prompt (name), field (name), layer, expert, and pass_id and row, which
name the token row that chose. An expert that a row chose counts once for it. Prompts stand in the order of fields, and
fields and prompts in the order in which they first come.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

COLUMNS = ["prompt", "field", "layer", "expert", "pass_id", "row"]


@dataclass(frozen=True)
class Counts:
    """How often each prompt chose each expert.

    chosen: int64, prompts x columns; rows: int64, prompts x columns, the token rows of the prompt that chose in the
    layer of the column; tokens: int64, by prompt, its token rows in all layers. `layers` and `experts` name the
    columns, `prompts` the rows, and `fields` has the name and the number of prompts of each field. `n_left_out`: layers
    in which some prompt has no row.
    """

    chosen: np.ndarray
    rows: np.ndarray
    tokens: np.ndarray
    layers: np.ndarray
    experts: np.ndarray
    prompts: tuple[str, ...]
    fields: tuple[tuple[str, int], ...]
    n_left_out: int

    @property
    def sizes(self) -> list[int]:
        """The number of prompts of each field."""
        return [n for _, n in self.fields]

    @property
    def places(self) -> np.ndarray:
        """The place of the field of each prompt."""
        return np.repeat(np.arange(len(self.fields)), self.sizes)


def counted(choices: pd.DataFrame) -> Counts:
    """The counts of a frame of choices. Raises ValueError if a prompt has two fields."""
    of = choices.drop_duplicates(["prompt", "layer", "expert", "pass_id", "row"])
    named = choices[["prompt", "field"]].drop_duplicates()
    if named["prompt"].duplicated().any():
        raise ValueError(f"the prompt {named['prompt'][named['prompt'].duplicated()].iloc[0]!r} has two fields")
    fields = list(dict.fromkeys(named["field"]))
    place = {field: n for n, field in enumerate(fields)}
    named = named.assign(place=named["field"].map(place)).sort_values("place", kind="stable")
    prompts = named["prompt"].tolist()
    in_layer = of.drop_duplicates(["prompt", "layer", "pass_id", "row"]).groupby(["prompt", "layer"]).size()
    rows = in_layer.unstack(fill_value=0).reindex(index=prompts).sort_index(axis=1)
    common = rows.columns[(rows > 0).all(axis=0).to_numpy(bool)]
    kept = of[of["layer"].isin(common)]
    table = pd.crosstab(kept["prompt"], [kept["layer"], kept["expert"]]).reindex(index=prompts, fill_value=0)
    layers = table.columns.get_level_values("layer").to_numpy()
    tokens = of.drop_duplicates(["prompt", "pass_id", "row"]).groupby("prompt").size().reindex(prompts)
    return Counts(
        chosen=table.to_numpy(np.int64),
        rows=rows[layers].to_numpy(np.int64),
        tokens=tokens.to_numpy(np.int64),
        layers=layers,
        experts=table.columns.get_level_values("expert").to_numpy(),
        prompts=tuple(map(str, prompts)),
        fields=tuple((str(field), int((named["field"] == field).sum())) for field in fields),
        n_left_out=len(rows.columns) - len(common),
    )
