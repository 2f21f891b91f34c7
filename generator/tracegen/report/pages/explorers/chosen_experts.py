"""The experts that the one token of a pass chose, for the page's scripts."""

import numpy as np
import pandas as pd

from tracegen.report.pages.explorers.packing import packed

WEIGHTS_OF = 1000  # a weight is stored as a whole number of thousandths


def chosen_experts(routing: pd.DataFrame, pass_ids: np.ndarray) -> list[str]:
    """Per pass: packed triples (layer, expert, weight in thousandths or null), by layer and order of choice.

    Empty where a pass has several token rows: their choices do not belong to one token.
    """
    rows = routing[routing["pass_id"].isin(pass_ids)].sort_values(["pass_id", "layer", "row", "rank"])
    several = rows.groupby("pass_id")["row"].transform("nunique") > 1
    rows = rows[~several.to_numpy(bool)]
    weight = (rows["weight"].astype("Float64") * WEIGHTS_OF).round().astype("Int64")
    triples = pd.concat([rows["layer"], rows["expert"], weight], axis=1).astype("Int64").to_numpy(object).ravel()
    ends = 3 * np.searchsorted(rows["pass_id"].to_numpy("int64"), pass_ids, "right")
    return packed(pd.Series(triples, dtype="Int64"), ends)
