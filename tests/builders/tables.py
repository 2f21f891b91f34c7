"""All tables of a run, with as many passes as asked for, and the same run without some of them."""

from collections.abc import Mapping
from functools import lru_cache

import pandas as pd

from tests.builders.graph import N_CTX, build_graph
from tests.builders.memory import buffers_of, files_of, placements_of
from tests.builders.passes import passes_of
from tracegen.contract.tables import empty, frame


def scaled_case(
    n_generate: int = 5,
    n_layers: int = 4,
    n_prompt: int = 6,
    *,
    moe: bool = False,
    copied: bool = True,
    splits: int = 1,
    threads: int = 2,
    prefix: str = "",
    warmup: bool = True,
) -> dict[str, pd.DataFrame]:
    """All tables of a plausible run: load, warm-up, one prompt pass and `n_generate` generate passes."""
    case = _made(n_generate, n_layers, n_prompt, moe, copied, splits, threads, prefix, warmup)
    return {name: table.copy(deep=False) for name, table in case.items()}  # pandas copies what is written to


@lru_cache(maxsize=64)
def _made(
    n_generate: int,
    n_layers: int,
    n_prompt: int,
    moe: bool,
    copied: bool,
    splits: int,
    threads: int,
    prefix: str,
    warmup: bool,
) -> dict[str, pd.DataFrame]:
    tables = empty()
    graphs = [build_graph(0, n_prompt, n_layers, moe, prefix), build_graph(1, 1, n_layers, moe, prefix)]
    built = [g.rows() for g in graphs]
    tables["graph_nodes"] = frame("graph_nodes", [n for nodes, _ in built for n in nodes])
    tables["graph_edges"] = frame("graph_edges", [e for _, edges in built for e in edges])
    tables["graphs"] = frame(
        "graphs",
        [dict(graph=g.graph, topology="7090109f", n_nodes=len(g.nodes), n_leafs=len(g.leaves)) for g in graphs],
    )
    tensors, files = files_of(graphs[0], splits)
    tables["tensors"], tables["files"] = frame("tensors", tensors), frame("files", files)
    tables["contexts"] = frame(
        "contexts",
        [
            dict(
                context=0,
                model=0,
                n_ctx=N_CTX,
                n_batch=512,
                n_ubatch=512,
                type_k="f16",
                type_v="f16",
                n_threads=threads,
            )
        ],
    )
    placements, sizes = placements_of(built, tensors, copied)
    tables["placements"] = frame("placements", placements)
    tables["buffers"] = frame("buffers", buffers_of(sizes))
    rows = passes_of(built, n_generate, n_prompt, threads, moe, n_layers, warmup)
    for name, table_rows in rows.items():
        if table_rows:
            tables[name] = frame(name, table_rows)
    return tables


def only(tables: Mapping[str, pd.DataFrame], kinds: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    """The same run with only the passes of these kinds left."""
    keep = tables["passes"].loc[tables["passes"]["kind"].isin(kinds), "pass_id"]
    return {
        name: table[table["pass_id"].isin(keep)].reset_index(drop=True) if "pass_id" in table else table
        for name, table in tables.items()
    }


def without(tables: Mapping[str, pd.DataFrame], *names: str) -> dict[str, pd.DataFrame]:
    """The same run with these tables empty."""
    bare = empty()
    return {name: bare[name] if name in names else table for name, table in tables.items()}
