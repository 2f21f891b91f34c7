"""Which experts the tokens chose: how often each was chosen, layer by layer.

A token's experts are those that the row with it chose: see `held.held`.
"""

from dataclasses import dataclass

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.held import held
from tracegen.analysis.passes import measured, of_kind


@dataclass(frozen=True)
class Choice:
    """Which experts the tokens of generate passes chose. `counts`: layer, expert, n_tokens (0 if never chosen).

    `n_experts` (of a layer) and `n_chosen` (by a token in a layer) are None where layers or rows differ;
    `n_rows` is the number of tokens that chose in some layer.
    """

    counts: pd.DataFrame
    n_rows: int
    n_experts: int | None
    n_chosen: int | None

    @property
    def even(self) -> float | None:
        """Tokens per expert and layer if all experts were chosen equally often."""
        if self.n_experts is None or self.n_chosen is None:
            return None
        return self.n_rows * self.n_chosen / self.n_experts


def choice(tables: Tables) -> Choice:
    """How often each expert was chosen in generate passes; warm-up and prompt are left out."""
    rows = generated(tables)
    chosen = rows.groupby(["layer", "expert"]).size()
    size = sizes(tables, rows)
    layers = sorted(size)
    every = pd.MultiIndex.from_tuples([(n, e) for n in layers for e in range(size[n])], names=["layer", "expert"])
    counts = chosen.reindex(every, fill_value=0).rename("n_tokens").reset_index()
    per_row = rows.groupby(["layer", "pass_id", "row"]).size().unique()
    n_rows = len(rows[["pass_id", "row"]].drop_duplicates())
    return Choice(counts, n_rows, _only(set(size.values())), _only({int(n) for n in per_row}))


def sizes(tables: Tables, rows: pd.DataFrame) -> dict[int, int]:
    """How many experts each layer has in which `rows` chose: those of its tensors, at least up to the last chosen."""
    stated = tables["tensors"].dropna(subset=["n_experts", "layer"]).groupby("layer")["n_experts"].max()
    last = rows.groupby("layer")["expert"].max()
    return {int(n): max(int(stated.get(n, 0)), int(last[n]) + 1) for n in sorted(last.index)}


def generated(tables: Tables) -> pd.DataFrame:
    """The choices of the tokens of generate passes, in order of layer, pass, row and rank.

    Columns: those of the table `routing`, and generated_token, the token that the row holds (null: not known).
    """
    return of_phase(tables, "generate")


def of_phase(tables: Tables, phase: str) -> pd.DataFrame:
    """The choices of the tokens of passes of a kind, `generate` or `prompt`: see `generated`."""
    routing = tables["routing"]
    rows = routing[routing["pass_id"].isin(of_kind(measured(tables), phase)["pass_id"])].astype(
        {"layer": "int64", "expert": "int64"}
    )
    rows = rows.merge(held(tables), on=["pass_id", "row"], how="left")
    return rows.sort_values(["layer", "pass_id", "row", "rank"], ignore_index=True)


def _only(values: set[int]) -> int | None:
    return next(iter(values)) if len(values) == 1 else None
