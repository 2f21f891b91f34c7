"""What the kernel's page cache served of what tokens used: a measured point beside simulated caches."""

import pandas as pd

from tracegen.analysis import granules, requests
from tracegen.analysis.accesses import Tables

COLUMNS = ["policy", "size_bytes", "hit_rate"]


def served(
    tables: Tables, uses: pd.DataFrame, granule_bytes: int, page_bytes: int, *, used: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One row (policy `kernel`, size_bytes, hit_rate) of all generate passes; none where it is not recorded.

    hit_rate: the share of the bytes that these passes touch of model files, each once a pass, that no request read in
    the pass that touched them; at least so much, as a page that is read twice in a pass counts twice there (a pass that
    reads more than it touches has none). size_bytes: the mean of what of the files was in memory at their ends
    (`cache`), or of all that the program's memory group holds beside its own memory (`memory`). `uses`: pass_id and
    granule of each use, as `granules.granule_uses` says. Without any request the share would be 1: no row. `used`: the
    result of `accesses.ranges`, if the caller has it already.
    """
    passes = tables["passes"]
    ids = passes.loc[(passes["kind"] == "generate").to_numpy(bool), "pass_id"]
    size = _in_memory(tables, ids, page_bytes)
    touched = granules.per_pass(uses[uses["pass_id"].isin(ids).to_numpy(bool)])
    if tables["requests"].empty or size is None or touched.empty:
        return pd.DataFrame(columns=COLUMNS)
    use = requests.use_by_pass(tables, page_bytes, used=used).set_index("pass_id")["now_bytes"]
    missed = use.reindex(touched.index).fillna(0).astype("float64")
    if not missed.sum():
        return pd.DataFrame(columns=COLUMNS)
    needed = touched.astype("float64") * granule_bytes
    rate = float((needed - missed).clip(lower=0).sum() / needed.sum())
    return pd.DataFrame([("kernel", size, rate)], columns=COLUMNS)


def beside(
    rates: pd.DataFrame, tables: Tables, uses: pd.DataFrame, granule_bytes: int, page_bytes: int
) -> pd.DataFrame:
    """The rates of simulated caches, and `served` behind them."""
    measured = served(tables, uses, granule_bytes, page_bytes)
    return pd.concat([rates, measured], ignore_index=True) if len(measured) else rates


def _in_memory(tables: Tables, ids: pd.Series, page_bytes: int) -> float | None:
    """Bytes of files that were in memory at the ends of these passes, mean; None where it is not recorded."""
    cache, memory = (tables[name][tables[name]["pass_id"].isin(ids).to_numpy(bool)] for name in ("cache", "memory"))
    held = memory.pivot(index="pass_id", columns="kind", values="resident_bytes")
    if len(cache):
        return float(cache.groupby("pass_id")["cached_pages"].sum().mean()) * page_bytes
    return float((held["group"] - held["anon"]).mean()) if {"anon", "group"} <= set(held.columns) else None
