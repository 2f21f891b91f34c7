"""The key figures of a run; all of them leave out load and warm-up passes."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.coverage import tensor_bytes, touched_file_bytes
from tracegen.analysis.passes import measured
from tracegen.analysis.speed import Speed, speed_of, total
from tracegen.contract.tables import MEMORY_KINDS

POOLED = "result_embd_pooled"  # llama.cpp builds it where a context was asked for embeddings, and only there
_EMBEDDING = ("mixed", "encode")  # the kinds of passes that give nothing else


@dataclass(frozen=True)
class Summary(Speed):
    """Key figures; None where the trace does not say. Times in ns, sizes in bytes, rates in tokens per second.

    `…_token_bytes` are medians over generate passes of the bytes touched: in each kind of memory, of weights (mapped
    and copied), and in all. `…_outside` counts load and warm-up passes.
    """

    n_prompt_passes: int
    n_generate_passes: int
    n_other_passes: int
    n_outside: int
    generated_tokens: int | None
    generate_token_bytes: dict[str, int | None]
    weight_token_bytes: int | None
    touched_token_bytes: int | None
    ops_per_token: int | None
    file_bytes: int
    weight_bytes: int | None
    touched_bytes: int | None
    touched_weight_bytes: int | None
    touched_disk_bytes: int | None
    n_never_touched: int | None
    read_bytes_outside: int | None

    @property
    def touched_share(self) -> float | None:
        """Share of the files' bytes that any measured pass touched, mapped or copied."""
        return _share(self.touched_bytes, self.file_bytes)

    @property
    def touched_weight_share(self) -> float | None:
        """Share of the bytes of all tensors that any measured pass touched: headers and padding are no part of it."""
        return _share(self.touched_weight_bytes, self.weight_bytes)

    @property
    def header_bytes(self) -> int | None:
        """Bytes of the files that belong to no tensor: headers and padding; None where that is not known."""
        if self.weight_bytes is None or self.weight_bytes > self.file_bytes:
            return None
        return self.file_bytes - self.weight_bytes


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def pass_bytes(passes: pd.DataFrame, ops: pd.DataFrame) -> pd.DataFrame:
    """Bytes touched per pass: pass_id and one nullable column per kind of memory.

    `ops` is the result of `operations.op_rows`. A pass is null where one of its ops is.
    """
    wanted = [f"{memory}_bytes" for memory in MEMORY_KINDS]
    ran = ops[ops["state"].isin(["executed", "fused"])]
    sums = ran.groupby("pass_id")[wanted].sum(skipna=False)
    return passes[["pass_id"]].merge(sums.reset_index(), on="pass_id", how="left")


def summarise(tables: Tables, ops: pd.DataFrame, used: pd.DataFrame, unseen: pd.DataFrame) -> Summary:
    """The key figures; `ops`, `used` and `unseen` are the results of `op_rows`, `ranges` and `unseen`."""
    passes, every = measured(tables), tables["passes"]
    outside = every[~every["pass_id"].isin(passes["pass_id"])]
    prompt, generate = passes[passes["kind"] == "prompt"], passes[passes["kind"] == "generate"]
    sizes = pass_bytes(passes, ops).set_index("pass_id")
    executed = ops[(ops["state"] == "executed") & ops["pass_id"].isin(generate["pass_id"])]
    counts = executed.groupby("pass_id").size()
    known = len(passes) > 0 and len(ops) > 0 and len(tables["files"]) > 0
    files = int(tables["files"]["size_bytes"].sum())
    disk, all_seen = (used["memory"] == "disk").to_numpy(bool), known and unseen.empty
    named = set(used["tensor"].dropna()) | set(unseen["tensor"].dropna())
    return Summary(
        **vars(speed_of(passes)),
        n_prompt_passes=len(prompt),
        n_generate_passes=len(generate),
        n_other_passes=len(passes) - len(prompt) - len(generate),
        n_outside=len(tables["passes"]) - len(passes),
        generated_tokens=None if _several_tokens(passes) else int(passes["produced_token"].notna().sum()),
        generate_token_bytes={m: median_bytes(sizes, [m], generate) for m in MEMORY_KINDS},
        weight_token_bytes=median_bytes(sizes, ["disk", "copied"], generate),
        touched_token_bytes=median_bytes(sizes, MEMORY_KINDS, generate),
        ops_per_token=median_low(counts.tolist()) if len(counts) else None,
        file_bytes=files,
        weight_bytes=tensor_bytes(tables),
        touched_bytes=touched_file_bytes(used) if all_seen else None,
        touched_weight_bytes=touched_file_bytes(used[used["tensor"].notna().to_numpy(bool)]) if all_seen else None,
        touched_disk_bytes=touched_file_bytes(used[disk]) if all_seen else None,
        n_never_touched=int((~tables["tensors"]["tensor"].isin(named)).sum()) if known else None,
        read_bytes_outside=total(outside["read_bytes"]),
    )


def _several_tokens(passes: pd.DataFrame) -> bool:
    """Whether the number of generated tokens is unknown: a pass may have given several, or some that were discarded.

    It is unknown too where no pass has a kind: graphs of ggml without llama.cpp.
    """
    if len(passes) and passes["kind"].isna().all():
        return True
    several = passes["kind"].isin(["mixed", "draft", "verify"]) & (passes["n_outputs"] > 0).fillna(True)
    return bool(several.any())


def median_bytes(sizes: pd.DataFrame, kinds: Sequence[str], passes: pd.DataFrame) -> int | None:
    """The median over passes of the bytes touched in `kinds` of memory together; None where one is not known."""
    values = sizes.loc[passes["pass_id"], [f"{memory}_bytes" for memory in kinds]].sum(axis=1, skipna=False)
    return None if values.empty or bool(values.isna().any()) else int(values.astype("float64").median())


@dataclass(frozen=True)
class Embeddings:
    """Medians over the measured passes of bytes touched: of weights, and in all; None where the trace does not say."""

    n_passes: int
    weight_bytes: int | None
    touched_bytes: int | None


def embeddings(tables: Tables, ops: pd.DataFrame) -> Embeddings | None:
    """The bytes of a run in which every measured pass gives embeddings; None for any other run.

    No prompt is there that a text goes on from, and no token is generated. `ops` is the result of `operations.op_rows`.
    """
    passes, nodes = measured(tables), tables["graph_nodes"]
    pooling = set(nodes.loc[nodes["name"] == POOLED, "graph"])
    if passes.empty or not (passes["kind"].isin(_EMBEDDING) & passes["graph"].isin(pooling)).all():
        return None
    sizes = pass_bytes(passes, ops).set_index("pass_id")
    weights = median_bytes(sizes, ["disk", "copied"], passes)
    return Embeddings(len(passes), weights, median_bytes(sizes, MEMORY_KINDS, passes))
