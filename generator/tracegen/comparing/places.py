"""Where the tokens of two sides used other bytes of the model file, and chose other experts."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import heatmap, pieces
from tracegen.analysis.accesses import ranges
from tracegen.analysis.passes import measured, of_kind
from tracegen.comparing.comparison import Compared
from tracegen.publishing.side import Measured
from tracegen.storing.recent import RECENT

Tables = Mapping[str, pd.DataFrame]


def same_files(a: Tables, b: Tables) -> bool:
    """Whether the model files of both runs have the same tensors at the same places."""
    columns = ["name", "offset", "size_bytes"]
    left, right = (tables["tensors"][columns].reset_index(drop=True) for tables in (a, b))
    return len(left) > 0 and left.astype(str).equals(right.astype(str))


class Used:
    """The bytes that the generate passes of runs used; all must have the same files (`same_files`)."""

    def __init__(self, *runs: Measured) -> None:
        """Cut the files as the first run has them."""
        self._runs = runs
        self._cut = runs[0].once("pieces", lambda: pieces.pieces(runs[0].tables()))

    def shares(self, n_columns: int) -> pd.DataFrame:
        """How much of the bytes of each place of the file a token used, in the mean over generate passes; of two runs.

        Columns: begin, end (bytes on the axis), a, b (shares, 0 to 1), copied_a, copied_b (shares of the same bytes, as
        far as they were used in copied memory). A place that neither run used has no row.
        """
        a, b = (
            of.set_axis([name, f"copied_{name}"], axis=1)
            for name, of in zip("ab", self.of_each(n_columns), strict=True)
        )
        both = a.join(b, how="outer").fillna(0.0)[["a", "b", "copied_a", "copied_b"]]
        return both.rename_axis(["begin", "end"]).reset_index()

    def of_each(self, n_columns: int) -> list[pd.DataFrame]:
        """For each run: share, copied (shares, 0 to 1), by start and end of the place."""
        return [self._of(run, n_columns) for run in self._runs]

    def _of(self, run: Measured, n_columns: int) -> pd.DataFrame:
        """Of one run; several pages, figures and their data ask for the same."""
        known: list[tuple[pd.DataFrame, pd.DataFrame]] = run.once(("shares", n_columns), list)
        for cut, found in known:
            if cut is self._cut or cut.equals(self._cut):
                return found
        tables, used, n_passes = run.tables(), _generated(run), len(_generate(run.tables()))
        cells = heatmap.shares(tables, n_columns, used=used, cut=self._cut).groupby(["begin", "end"])
        sums = cells[["touched_bytes", "copied_bytes"]].sum().astype("float64")
        shares = sums.div(cells["size_bytes"].first() * max(n_passes, 1), axis=0)
        found = shares.set_axis(["share", "copied"], axis=1)
        known.append((self._cut, found))
        return found


def _generated(run: Measured) -> pd.DataFrame:
    """The ranges of the file that generate passes used."""

    def used_ranges() -> dict[str, pd.DataFrame]:
        used = ranges(run.tables())
        return {"used": used[used["pass_id"].isin(_generate(run.tables()))]}

    return run.once("used", lambda: RECENT.kept(used_ranges))()["used"]


def _generate(tables: Tables) -> pd.Series:
    return of_kind(measured(tables), "generate")["pass_id"]


def expert_distances(rows: list[Compared]) -> pd.DataFrame:
    """How far apart the choices of experts are in each layer; `rows`: the measures by expert.

    Columns: layer, n_a, n_b (choices), distance (total variation: the share of choices that would have to go to another
    expert, 0 to 1), most_a, most_b (the most chosen expert).
    """
    chosen: dict[int, dict[int, tuple[float, float]]] = {}
    for row in rows:
        layer, expert = (int(part.rsplit(" ", 1)[1]) for part in row.item.split(", "))
        chosen.setdefault(layer, {})[expert] = (row.a or 0.0, row.b or 0.0)
    table = []
    for layer, experts in sorted(chosen.items()):
        n_a, n_b = (sum(pair[side] for pair in experts.values()) for side in (0, 1))
        if n_a and n_b:
            distance = sum(abs(x / n_a - y / n_b) for x, y in experts.values()) / 2
            most = [max(experts, key=lambda e, side=side: experts[e][side]) for side in (0, 1)]  # type: ignore[misc]
            table.append((layer, n_a, n_b, distance, *most))
    return pd.DataFrame(table, columns=["layer", "n_a", "n_b", "distance", "most_a", "most_b"])
