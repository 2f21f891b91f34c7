"""The timeline page: the threads during one pass, other passes by script, and where threads wait."""

from typing import Any

import pandas as pd

from tracegen.analysis import backends
from tracegen.analysis.passes import OUTSIDE as OUTSIDE_KINDS
from tracegen.charts import theme
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.assets import Assets
from tracegen.report.figures import shared_times
from tracegen.report.figures.context import Context
from tracegen.report.figures.timeline import shown_pass
from tracegen.report.pages.explorers.span_chunks import Carried, device_lanes, write_spans
from tracegen.report.pages.token_words import pass_name

WAITING = {"waiting for the disk": "--tg-disk", "waiting inside": "--tg-inside", "barrier wait": "--tg-after"}
MOST_SPLITS = 2_000  # of a pass: more are not drawn
OTHERS = {"other backends": "--tg-elsewhere"}
# What the strip of all passes distinguishes: work by part of the model, waiting, other backends.
PARTS = (*theme.GROUPS, *WAITING, *OTHERS)


def timeline(context: Context, assets: Assets) -> dict[str, Any]:
    """The values of the template of the timeline page; writes the chunks of its explorer."""
    shown = shown_pass(context)
    carried = write_spans(context, assets, [] if shown is None else [shown])
    if shown is None and carried.chunk:
        shown = min(carried.chunk)
    refused = context.refusal(needs.TIMES)
    passes = [] if refused or not carried.chunk else _passes(context, carried)
    return {
        "passes": [p for p in passes if p["chunk"] is not None],
        "shown": shown,
        "note": _note(context, carried),
        "others": context.others,
        "lane": "thread" if len(context.tables["spans"]) else "device",
        "state": {
            "shown": shown,
            "passes": passes,
            "groups": dict(theme.GROUP_OF),
            "colours": {name: variable for name, (variable, _, _) in theme.GROUPS.items()} | WAITING | OTHERS,
            "kinds": _kinds(context),
            "parts": list(PARTS),
            "data": "../data/spans/",
            "operations": "../operations/index.html",
        },
    }


def _passes(context: Context, carried: Carried) -> list[dict[str, Any]]:
    """Every pass but loads, for the strip: kind, duration, and the chunk of its spans if it has one."""
    every, parts = context.tables["passes"].sort_values("pass_id", kind="stable"), _parts(context)
    others = others_of(context)
    return [
        {
            "id": int(p["pass_id"]),
            "label": context.labels[int(p["pass_id"])],
            "name": pass_name(int(p["pass_id"]), context.labels[int(p["pass_id"])]),
            "kind": str(p["kind"]) if q.known(p["kind"]) else q.UNKNOWN,
            "outside": p["kind"] in OUTSIDE_KINDS,
            "ns": None if pd.isna(p["end_ns"]) else int(p["end_ns"]) - int(p["begin_ns"]),
            "graph": None if pd.isna(p["graph"]) else int(p["graph"]),
            "chunk": carried.chunk.get(int(p["pass_id"])),
            "parts": parts.get(int(p["pass_id"])),
            "others": others.get(int(p["pass_id"]), []),
        }
        for p in every.to_dict("records")
        if p["kind"] != "load"
    ]


def others_of(context: Context) -> dict[int, list[list[Any]]]:
    """For each pass its splits on other backends: backend, begin since that of the pass, duration, both ns, and 1 where
    only the hand-over has a time. Splits of a backend that end with one wait are one. Devices of which single
    operations were recorded are left out: those have lanes."""
    splits, known = context.tables["splits"], context.tables["device_ops"].dropna(subset=["device", "node"])
    splits = splits.assign(handed=backends.submitted(splits))[~splits["by_op"].to_numpy(bool)]
    lanes = pd.MultiIndex.from_frame(known[["pass_id", "device"]])
    splits = splits[~pd.MultiIndex.from_frame(splits[["pass_id", "backend"]]).isin(lanes)]
    begins = context.tables["passes"].set_index("pass_id")["begin_ns"]
    found: dict[int, list[list[Any]]] = {}
    for s in splits.sort_values(["backend", "begin_ns"]).to_dict("records"):
        of, name, handed = found.setdefault(int(s["pass_id"]), []), q.printable(s["backend"]), int(s["handed"])
        since, until = (int(s[moment]) - int(begins[s["pass_id"]]) for moment in ("begin_ns", "end_ns"))
        if of and of[-1][0] == name and of[-1][3] == handed and since < of[-1][1] + of[-1][2]:
            of[-1][2] = max(of[-1][2], until - of[-1][1])
        elif len(of) < MOST_SPLITS:
            of.append([name, since, until - since, handed])
    return found


def _parts(context: Context) -> dict[int, list[int]]:
    """For each pass the share of PARTS in the time of its threads, in thousandths; what is missing lies outside ops.

    Of a trace without times of threads, in the time of its devices.
    """
    ops = context.ops.assign(group=context.ops["component"].astype("object").map(theme.GROUP_OF).fillna("other"))
    lanes = context.tables["spans"]
    if lanes.empty:
        lanes = device_lanes(context)
        ops = ops.drop(columns=["work_ns", "barrier_ns", "wait_ns"]).merge(
            lanes.drop(columns="fault_ns"), on=["pass_id", "node"]
        )
    faults = lanes.groupby(["pass_id", "node"])["fault_ns"].sum()
    ops = ops.join(faults, on=["pass_id", "node"]).fillna({"fault_ns": 0})
    ops["computing_ns"] = ops["work_ns"] - ops["fault_ns"]
    work = ops.pivot_table(index="pass_id", columns="group", values="computing_ns", aggfunc="sum", observed=True)
    waits = ops.groupby("pass_id")[["fault_ns", "barrier_ns", "wait_ns"]].sum().set_axis([*WAITING], axis=1)
    sums = work.join(waits).reindex(columns=list(PARTS)).astype("float64").fillna(0)
    passes = context.tables["passes"].set_index("pass_id")
    threads = lanes.groupby("pass_id")["thread"].nunique()
    others = backends.elsewhere_ns(context.tables["splits"]).reindex(sums.index, fill_value=0)
    sums["other backends"] = others * threads.reindex(sums.index)
    time = (passes["end_ns"] - passes["begin_ns"]).astype("float64").reindex(sums.index) * threads.reindex(sums.index)
    shares = (1000 * sums.div(time, axis=0)).round().clip(upper=1000)
    return {int(p): [int(v) for v in row] for p, *row in shares.dropna().itertuples()}


def _kinds(context: Context) -> list[str]:
    """The kinds of operation with most work in measured passes; each gets its own colour."""
    ops = context.ops[context.ops["pass_id"].isin(context.measured["pass_id"])].dropna(subset=["work_ns"])
    of_devices = device_lanes(context)[["pass_id", "node", "work_ns"]]
    ops = pd.concat([ops, of_devices.merge(context.ops[["pass_id", "node", "op"]], on=["pass_id", "node"])])
    ops = ops[ops["pass_id"].isin(context.measured["pass_id"])]
    work = ops.astype({"op": "object"}).groupby("op")["work_ns"].sum().reset_index()
    ordered = work.sort_values(["work_ns", "op"], ascending=[False, True])
    return [q.printable(op) for op in ordered["op"].head(len(theme.GROUPS) - 1)]


def _note(context: Context, carried: Carried) -> str:
    """How many passes the explorer shows, and how they were chosen if some are left out."""
    n = len(carried.chunk)
    warmup = ", warm-up included" if (context.tables["passes"]["kind"] == "warmup").any() else ""
    text = f"{q.counted(n, 'pass')} with {q.counted(carried.n_spans, 'span')}{warmup}."
    if carried.left_out:
        text = (
            f"{q.count(n)} of {q.counted(carried.n_with_spans, 'pass')} with times of threads, "
            f"{q.counted(carried.n_spans, 'span')}: the first, the slowest, the fastest, that of median length, and "
            "others evenly spread over the run. The table spans of the downloads has all."
        )
    if context.untimed:
        text += f" Operations on {context.untimed} have no times of threads and are not drawn."
    if context.submitted:
        text += f" {shared_times.submitted(context.submitted)}"
    return text
