"""`tracegen show`: the key figures of a run in the terminal, or its ops, buffers, checks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from tracegen import store
from tracegen.analysis.accesses import Tables, ranges
from tracegen.analysis.operations import op_rows
from tracegen.analysis.passes import measured
from tracegen.analysis.summary import Summary, summarise
from tracegen.capture.execute import visible
from tracegen.errors import SettingsError
from tracegen.loaded import run_folder
from tracegen.model import Run

NAME = "show"
HELP = "Print what a run did: passes, speed, bytes per token, time by op kind, buffers, verdict."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen show`."""
    parser.add_argument("run", metavar="RUN", help="a run's folder, or NAME/run-003, or NAME for its newest run")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--stats", action="store_true", help="rows of every table and what the trace says of itself")
    what.add_argument("--verify", action="store_true", help="hash every file of the run and list all checks")
    what.add_argument("--ops", action="store_true", help="the ops, in order of execution")
    what.add_argument("--buffers", action="store_true", help="the runtime buffers, in order of allocation")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="with --ops: at most N rows (default 50)")
    parser.add_argument("--pass", dest="pass_id", type=int, metavar="K", help="with --ops: only pass K")
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what was asked for."""
    folder = run_folder(args.run)
    made = store.read_run(folder)
    if args.verify:
        return _verify(folder, made, args.json)
    tables = store.read_tables(folder / "tables")
    if args.ops:
        rows = op_rows(tables, None if args.pass_id is None else [_known_pass(tables, args.pass_id)]).head(args.limit)
        _print_table(rows, args.json)
    elif args.buffers:
        _print_table(tables["buffers"], args.json)
    elif args.stats:
        _print_pairs(_stats(made, tables), args.json)
    else:
        _print_pairs(_overview(made, tables), args.json)
    return 0


def _known_pass(tables: Tables, pass_id: int) -> int:
    last = len(tables["passes"]) - 1
    if not 0 <= pass_id <= last:
        raise SettingsError(f"--pass {pass_id}: this run has the passes 0 to {last}")
    return pass_id


def _verify(folder: Path, made: Run, as_json: bool) -> int:
    store.verify_run(folder)
    if as_json:
        print(json.dumps([asdict(check) for check in made.checks], indent=1))
    else:
        for check in made.checks:
            print(f"{check.state:11}  {check.title}: {visible(check.found)} (limit: {check.limit})")
        print(f"every file of {folder} is as it was written; {made.verdict}")
    return 1 if made.verdict == "not usable" else 0


def _stats(made: Run, tables: Tables) -> dict[str, object]:
    trace = made.facts["trace"]
    return {
        **{f"rows of {name}": len(table) for name, table in tables.items()},
        **{f"trace {k}": v for k, v in trace.items()},
    }


def _overview(made: Run, tables: Tables) -> dict[str, object]:
    """Key figures in reading order; load and warm-up are outside all of them."""
    ids = measured(tables)["pass_id"]
    ops = op_rows(tables, ids)
    summary = summarise(tables, ops, ranges(tables, ids))
    model = made.facts["model"]
    weights = " (random weights)" if model["random_weights"] else ""
    return {
        "run": f"{made.experiment}/{made.name}",
        "model": f"{Path(model['file']).name}, {model['architecture']}, {model['size_bytes'] / 2**20:.1f} MiB{weights}",
        "passes": _passes(tables),
        "prompt": _rate(summary.prompt_tokens, summary.prompt_rate),
        "generation": _rate(summary.generated_tokens, summary.generate_rate),
        "ops per token": summary.ops_per_token,
        **_bytes_per_token(summary),
        "file read at least once": _share(summary),
        **_time_by_op(ops),
        "peak of buffers": _mib(_peak(tables["buffers"])),
        "tracing cost": _percent(made.facts["trace"].get("overhead_share")),
        "verdict": made.verdict,
        **{
            f"{check.state}: {check.key}": f"{check.found} (limit: {check.limit})"
            for check in made.checks
            if check.state in ("failed", "warning")
        },
    }


def _passes(tables: Tables) -> str:
    counts = tables["passes"]["kind"].value_counts()
    return ", ".join(f"{n} {kind}" for kind, n in counts.items() if n)


def _rate(tokens: int | None, rate: float | None) -> str | None:
    if tokens is None:
        return None
    return f"{tokens} tokens" + (f", {rate:.1f} tokens/s" if rate is not None else "")


def _bytes_per_token(summary: Summary) -> dict[str, str | None]:
    return {f"{memory} bytes touched per token": _mib(n) for memory, n in summary.generate_token_bytes.items()}


def _share(summary: Summary) -> str | None:
    share = summary.touched_share
    return None if share is None else f"{share:.1%} of {_mib(summary.file_bytes)}"


def _time_by_op(ops: pd.DataFrame) -> dict[str, str]:
    """Wall time by op kind, largest first, with shares."""
    known = ops[ops["duration_ns"].notna()]
    sums = known.groupby("op", observed=True)["duration_ns"].sum().sort_values(ascending=False)
    total = float(sums.sum())
    return {
        f"time in {op}, prompt and generation": f"{ns / 1e6:.3f} ms, {ns / total:.1%}"
        for op, ns in sums.head(8).items()
        if total
    }


def _peak(buffers: pd.DataFrame) -> int | None:
    buffers = buffers[buffers["usage"] != "mapped"]
    if buffers.empty:
        return None
    change = buffers["size_bytes"].where(buffers["event"] == "alloc", -buffers["size_bytes"])
    return int(change.cumsum().max())


def _mib(size: int | None) -> str | None:
    return None if size is None else f"{size / 2**20:.3f} MiB"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"


def _print_pairs(pairs: dict[str, object], as_json: bool) -> None:
    if as_json:
        print(json.dumps(pairs, indent=1, default=str))
        return
    width = max(map(len, pairs))
    for name, value in pairs.items():
        print(f"{name:{width}}  {visible('not recorded' if value is None else str(value))}")


def _print_table(table: pd.DataFrame, as_json: bool) -> None:
    if as_json:
        print(table.to_json(orient="records", indent=1))
        return
    shown = table.astype(object).where(table.notna(), "–")
    for column in shown.columns:
        shown[column] = _visible(shown[column])
    print(shown.to_string(index=False) if len(shown) else "none recorded")


def _visible(values: Iterable[object]) -> list[str]:
    return [visible(str(value)) for value in values]
