"""Weights that passes copy to another backend, because it computes with them and they lie with the CPU."""

from dataclasses import dataclass

from tracegen.analysis.accesses import Tables
from tracegen.analysis.expert_cache import SLOTS
from tracegen.analysis.passes import measured, of_kind


@dataclass(frozen=True)
class CopiedWeights:
    """What was copied to a backend: bytes, those of experts among them, the layers, and how long it took, ns.

    The time of a copy that was only handed over is that of the hand-over; then `whole` is false.
    """

    target: str
    n_bytes: int
    expert_bytes: int
    layers: tuple[int, ...]
    took_ns: int
    whole: bool


def weights(tables: Tables, phase: str) -> list[CopiedWeights]:
    """By target, the largest first, for measured passes of a kind; empty where none was copied."""
    passes = of_kind(measured(tables), phase)["pass_id"]
    tensors = tables["tensors"][["name", "layer", "n_experts"]].astype({"name": "object"}).drop_duplicates("name")
    rows = tables["copies"][tables["copies"]["pass_id"].isin(passes).to_numpy(bool)].astype({"tensor": "object"})
    name = rows["tensor"].str.replace(SLOTS, "", regex=True)
    rows = rows.assign(in_slots=name.ne(rows["tensor"]), tensor=name).merge(tensors, left_on="tensor", right_on="name")
    rows["layer"] = rows["layer"].mask(rows["in_slots"].to_numpy(bool))  # a slot holds an expert of any layer
    rows = rows.assign(took_ns=rows["end_ns"] - rows["begin_ns"])
    found = [
        CopiedWeights(
            target=str(target),
            n_bytes=int(of["size_bytes"].sum()),
            expert_bytes=int(of.loc[of["n_experts"].notna(), "size_bytes"].sum()),
            layers=tuple(sorted(of["layer"].dropna().astype("int64").unique().tolist())),
            took_ns=int(of["took_ns"].sum()),
            whole=bool(of["proof"].ne("none").all()),
        )
        for target, of in rows.groupby("target", observed=True)
    ]
    return sorted(found, key=lambda of: -of.n_bytes)
