"""How many experts of each tensor a pass used.

All expert tensors of a layer share its routing: an expert that some token of the pass chose is used of each.
"""

import pandas as pd

from tracegen.analysis import experts, passes
from tracegen.analysis.accesses import Tables


def used(tables: Tables) -> pd.DataFrame:
    """Experts used of each expert tensor, by each pass of the prompt, and by all generate passes together.

    Columns: phase, pass_id (null for generate), name (of the pass), layer, tensor (null: the trace names none),
    n_rows (tokens that chose in the layer), n_used (experts that some row chose), n_experts, if_even (expected
    n_used if each row chose at random: E (1 - (1 - k/E)^n), null where rows differ in k). In order of passes, generate
    last, then layers and tensors.
    """
    labels = passes.labels(tables)
    prompt, generated = (experts.of_phase(tables, phase) for phase in ("prompt", "generate"))
    sizes = experts.sizes(tables, pd.concat([rows for rows in (prompt, generated) if len(rows)] or [prompt]))
    choices = [("prompt", int(str(one)), labels[int(str(one))], rows) for one, rows in prompt.groupby("pass_id")]
    parts = []
    for phase, number, name, chosen in [*choices, ("generate", None, "all generated tokens", generated)]:
        for key, of in chosen.groupby("layer"):
            size, per_row = sizes[int(str(key))], of.groupby(["pass_id", "row"]).size()
            n, k = len(per_row), int(per_row.iloc[0])
            even = size * (1 - (1 - k / size) ** n) if (per_row == k).all() else None
            parts.append((phase, number, name, int(str(key)), n, int(of["expert"].nunique()), size, even))
    columns = ["phase", "pass_id", "name", "layer", "n_rows", "n_used", "n_experts", "if_even"]
    table = pd.DataFrame(parts, columns=columns)
    tensors = tables["tensors"].dropna(subset=["n_experts", "layer"])[["layer", "name"]].drop_duplicates()
    tensors = tensors.astype({"layer": "int64"}).rename(columns={"name": "tensor"})
    table = table.astype({"layer": "int64"}).merge(tensors, on="layer", how="left")
    types = dict.fromkeys(["pass_id", "n_rows", "n_used", "n_experts"], "Int64")
    return table.astype({**types, "if_even": "Float64"})[[*columns[:4], "tensor", *columns[4:]]]
