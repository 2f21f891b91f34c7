"""`tracegen show`: prints the key figures of a run, or its ops, buffers, tables or checks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracegen.arguments import WHOLE, Choice, Command, Converted, run_names
from tracegen.capture.execute import visible
from tracegen.commands import VERBS
from tracegen.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.analysis.accesses import Tables
    from tracegen.model import Run

EPILOG = (
    "JSON holds plain numbers, not rounded, with the unit in the name: _ns (nanoseconds), _bytes, _share (of 1), "
    "tokens_per_second; other numbers are counts, identifiers or addresses. null: not recorded. The finding and the "
    "limit of a check are text. repetition, mlock and memory_limit are absent when they were not set."
)
ISSUE = ("hot", "cache", "load", "ops", "disk")
EXAMPLES = (
    "tracegen show first-look",
    "tracegen show first-look/run-003 --ops --pass 4",
    "tracegen show quick --json",
    "tracegen show first-look@v1 --issue cache",
)
LIMIT = 50
PER_TOKEN = "_bytes_per_token"  # after the name of a kind of memory
# The tables that key figures and ops need. Reading all would take twice as long.
OVERVIEW = (
    "files", "passes", "graph_nodes", "graph_edges", "ops", "spans", "placements", "touches", "tensors", "buffers",
)  # fmt: skip


class _Part(Choice):
    """A part of the lines for an issue."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The message that also says how to write a run beside the option, as its value may be left out."""
        known = ", ".join(self.choices)
        return f"{value!r} is none of its parts: {known}; a RUN stands before it: tracegen show RUN --issue"


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is no number of rows; write 1 or more")
    return int(text)


@click.command(
    "show",
    cls=Command,
    help=VERBS["show"],
    examples=EXAMPLES,
    epilog=EPILOG,
    exclusive=(("stats", "verify", "ops", "buffers", "issue", "summary"), ("as_json", "issue")),
)
@click.argument(
    "run",
    metavar="RUN",
    shell_complete=run_names,
    help="Folder of a run, or NAME/run-003, or NAME for its newest run; with --issue, a version too: NAME@v1. Or a "
    "file or folder that `tracegen import` could read: it is shown without importing it.",
)
@click.option("--summary", is_flag=True, help="Print the key figures, as without any option.")
@click.option("--stats", is_flag=True, help="Print the number of rows of every table, and the facts of the trace.")
@click.option("--verify", is_flag=True, help="Hash every file of the run, and list all checks.")
@click.option("--ops", is_flag=True, help="Print the ops, in order of execution.")
@click.option("--buffers", is_flag=True, help="Print the runtime buffers, largest first.")
@click.option(
    "--limit",
    type=Converted("rows", _at_least_one),
    metavar="N",
    help=f"With --ops: print at most N rows (default {LIMIT}).",
)
@click.option("--pass", "pass_id", type=WHOLE, metavar="K", help="With --ops: only pass K.")
@click.option(
    "--issue",
    type=_Part(ISSUE),
    is_flag=False,
    flag_value=ISSUE[0],
    metavar="[PART]",
    help="Print at most 40 lines of Markdown to paste into an issue, in the public form of the run. PART: hot (what "
    "tokens touch most; the default), cache (the page cache and reads), load (loading, copies, buffers), ops (time by "
    "operation), disk (requests and waits).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON, in numbers.")
def command(
    run: str,
    summary: bool,
    stats: bool,
    verify: bool,
    ops: bool,
    buffers: bool,
    limit: int | None,
    pass_id: int | None,
    issue: str | None,
    as_json: bool,
) -> int:
    """Print the part of the run that the options choose."""
    for option, value in (("--limit", limit), ("--pass", pass_id)):
        if value is not None and not ops:
            raise SettingsError(f"{option}: is allowed only with --ops; add it")
    if issue is not None:
        return _print_issue(run, issue)
    from tracegen import store
    from tracegen.folders import run_folder

    if _is_foreign(Path(run)):
        return _print_foreign(Path(run), (stats, verify, ops, buffers), pass_id, limit or LIMIT, as_json)
    folder = run_folder(run)
    stored = store.read_run(folder)
    if verify:
        return _verify(folder, stored, as_json)
    if stats:
        _print_stats(stored, store.read_tables(folder / "tables"), as_json)
    elif buffers:
        _print_table(_largest_first(store.read_tables(folder / "tables", ("buffers",))["buffers"]), as_json)
    elif ops:
        _print_ops(store.read_tables(folder / "tables", OVERVIEW), pass_id, limit or LIMIT, as_json)
    else:
        figures = _figures_of(folder, stored)
        _print_pairs(_overview(figures), figures, as_json)
    return 0


def _is_foreign(path: Path) -> bool:
    """Whether the argument is a file, or a folder that holds no run of tracegen, neither itself nor in `runs`.

    A bare name is that of an experiment here, if there is one with runs: an import is named after its folder.
    """
    from tracegen.folders import EXPERIMENTS

    if path.parts == (path.name,) and (EXPERIMENTS / path.name / "runs").is_dir():
        return False
    return path.is_file() or (path.is_dir() and not any((path / name).exists() for name in ("run.json", "runs")))


def _print_foreign(
    path: Path, wanted: tuple[bool, bool, bool, bool], pass_id: int | None, limit: int, as_json: bool
) -> int:
    """Print what a foreign trace holds, without importing it; as for a run, but a file has no hashes to verify."""
    from tracegen.progress import Progress
    from tracegen.runs import importing

    source = importing.found_in([path], None, None, None)
    run, tables = importing.as_run(source, Progress())
    for line in run.facts["imported"]["left_out"]:
        print(f"left out: {visible(line)}", file=sys.stderr)
    stats, verify, ops, buffers = wanted
    if verify:
        _print_checks(run, as_json)
        return 1 if run.verdict == "not usable" else 0
    if stats:
        _print_stats(run, tables, as_json)
    elif buffers:
        _print_table(_largest_first(tables["buffers"]), as_json)
    elif ops:
        _print_ops(tables, pass_id, limit, as_json)
    else:
        figures = _figures(run, tables)
        _print_pairs(_overview(figures), figures, as_json)
    return 0


def _print_issue(named: str, part: str) -> int:
    """Print a part of a run or version as Markdown."""
    from tracegen.charts.text import printable
    from tracegen.folders import run_folder, version_folder
    from tracegen.publishing import pasted

    folder = version_folder(named)
    text = pasted.of_run(run_folder(named), part) if folder is None else pasted.of_version(folder, part)
    print(printable(text), end="")
    return 0


def _figures_of(folder: Path, run: Run) -> dict[str, Any]:
    """The key figures of a stored run, which are computed when it is shown for the first time."""
    from tracegen import store
    from tracegen.remembered import remembered

    files = [folder / store.RUN_FILE, *sorted((folder / "tables").glob("*.parquet"))]
    return remembered(folder, files, lambda: _figures(run, store.read_tables(folder / "tables", OVERVIEW)))


def _print_ops(tables: Tables, pass_id: int | None, limit: int, as_json: bool) -> None:
    from tracegen.analysis.operations import op_rows

    rows = op_rows(tables, None if pass_id is None else [_known_pass(tables, pass_id)])
    shown = rows.head(limit)
    _print_table(shown, as_json)
    if len(shown) < len(rows):
        print(f"{len(shown):,} of {len(rows):,} ops; --limit N prints more", file=sys.stderr)


def _print_stats(run: Run, tables: Tables, as_json: bool) -> None:
    rows, trace = {name: len(table) for name, table in tables.items()}, run.facts["trace"]
    _print_pairs({**_named("rows of", rows), **_named("trace", trace)}, {"rows": rows, "trace": trace}, as_json)


def _largest_first(buffers: pd.DataFrame) -> pd.DataFrame:
    """The rows of `buffers`, largest buffer first; begin and end of a buffer follow each other."""
    return buffers.sort_values(["size_bytes", "buffer_id", "time_ns"], ascending=[False, True, True])


def _known_pass(tables: Tables, pass_id: int) -> int:
    last = len(tables["passes"]) - 1
    if not 0 <= pass_id <= last:
        raise SettingsError(f"--pass: is {pass_id}; this run has the passes 0 to {last}")
    return pass_id


def _verify(folder: Path, run: Run, as_json: bool) -> int:
    from tracegen import store

    store.verify_run(folder)
    _print_checks(run, as_json)
    if not as_json:
        print(f"every file of {folder} is as it was written; {run.verdict}")
    return 1 if run.verdict == "not usable" else 0


def _print_checks(run: Run, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(check) for check in run.checks], indent=1))
        return
    for check in run.checks:
        print(f"{check.state:11}  {check.title}: {visible(check.found)} (limit: {check.limit})")


def _named(group: str, values: Mapping[str, object]) -> dict[str, object]:
    return {f"{group} {key}": value for key, value in values.items()}


def _figures(run: Run, tables: Tables) -> dict[str, Any]:
    """The key figures as plain numbers, None when not recorded. All leave out load and warm-up."""
    from tracegen.analysis.accesses import accesses, placed, ranges, unseen
    from tracegen.analysis.buffers import total_peak
    from tracegen.analysis.operations import op_rows
    from tracegen.analysis.passes import measured
    from tracegen.analysis.summary import summarise

    ids = measured(tables)["pass_id"]
    rows = placed(tables, ids)
    ops = op_rows(tables, ids, accessed=accesses(tables, rows=rows))
    summary = summarise(tables, ops, ranges(tables, rows=rows), unseen(tables, rows=rows))
    if _lacks_bytes(run):  # what was not recorded would count as 0
        unknown = dict.fromkeys(summary.generate_token_bytes)
        summary = replace(summary, generate_token_bytes=unknown, touched_bytes=None)
    models = [run.facts["model"], *(run.facts.get("more_models") or ())]
    described = [
        {key: model[key] for key in ("file", "architecture", "size_bytes", "random_weights")} for model in models
    ]
    return {
        "run": f"{run.experiment}/{run.name}",
        "model": described[0],
        "more_models": described[1:],
        "passes": _kinds(tables),
        "skipped_passes": run.facts["trace"].get("skipped_passes") or 0,
        "interrupted": bool(run.facts.get("stopped")),
        "read_bytes": summary.read_bytes,
        "prompt_tokens": summary.prompt_tokens,
        "prompt_ns": summary.prompt_ns,
        "tokens_per_second_prompt": summary.prompt_rate,
        "generated_tokens": summary.generated_tokens,
        "generate_ns": summary.generate_ns,
        "tokens_per_second_generate": summary.generate_rate,
        "ops_per_token": summary.ops_per_token,
        **{f"{memory}{PER_TOKEN}": n for memory, n in summary.generate_token_bytes.items()},
        "file_bytes": summary.file_bytes or None,
        "touched_bytes": summary.touched_bytes,
        "touched_share": summary.touched_share,
        "time_by_op_ns": _time_by_op(ops),
        "peak_buffer_bytes": total_peak(tables),
        "tracing_cost_share": run.facts["trace"].get("overhead_share"),
        **({"repetition": series} if (series := run.facts.get("repetition")) else {}),
        **{key: facts for key in ("mlock", "memory_limit") if (facts := run.facts.get("conditions", {}).get(key))},
        "verdict": run.verdict,
        "checks": [asdict(check) for check in run.checks if check.state in ("failed", "warning")],
    }


def _lacks_bytes(run: Run) -> bool:
    """Whether checks say that touched bytes are missing in the trace."""
    from tracegen.figures.needs import BYTES

    broken = {("failed", key) for need in BYTES for key in (*need.checks, *need.warned)}
    broken |= {("warning", key) for need in BYTES for key in need.warned}
    return any((check.state, check.key) in broken for check in run.checks)


def _kinds(tables: Tables) -> dict[str, int]:
    """Kind -> number of passes."""
    kinds = tables["passes"]["kind"].astype("object").fillna("of no known kind")
    return {str(kind): int(n) for kind, n in kinds.value_counts().items()}


def _overview(figures: Mapping[str, Any]) -> dict[str, object]:
    """The key figures in words, in reading order."""
    from tracegen.words.terms import memory_name

    more = figures["more_models"]
    times = figures["time_by_op_ns"]
    return {
        "run": figures["run"],
        **({"repetition": _repetition(series)} if (series := figures.get("repetition")) else {}),
        "model": _model(figures["model"]),
        **{f"model {number}": _model(model) for number, model in enumerate(more, 2)},
        "passes": ", ".join(f"{n} {kind}" for kind, n in figures["passes"].items()),
        **({"window": f"{n} passes outside it were not recorded"} if (n := figures["skipped_passes"]) else {}),
        **({"ended": "interrupted, after its trace was closed"} if figures["interrupted"] else {}),
        "prompt": _rate(figures["prompt_tokens"], figures["tokens_per_second_prompt"]),
        "generation": _rate(figures["generated_tokens"], figures["tokens_per_second_generate"]),
        "ops per token": figures["ops_per_token"],
        **{
            f"touched per token: {memory_name(key.removesuffix(PER_TOKEN))}": _size(size)
            for key, size in figures.items()
            if key.endswith(PER_TOKEN)
        },
        "read from the disk by measured passes": _size(figures["read_bytes"]),
        "file used at least once": _share(figures["touched_share"], figures["file_bytes"]),
        **{
            f"time in {op}, measured passes": f"{ns / 1e6:.3f} ms, {ns / sum(times.values()):.1%} of operations’ time"
            for op, ns in list(times.items())[:8]
            if ns
        },
        "peak of buffers": _size(figures["peak_buffer_bytes"]),
        **({"locked beside it": _size(memory["locked_bytes"])} if (memory := figures.get("mlock")) else {}),
        **({"memory limit": _limit(memory)} if (memory := figures.get("memory_limit")) else {}),
        "tracing cost": _percent(figures["tracing_cost_share"]),
        "verdict": figures["verdict"],
        **{f"{c['state']}: {c['key']}": f"{c['found']} (limit: {c['limit']})" for c in figures["checks"]},
    }


def _model(model: Mapping[str, Any]) -> str | None:
    """A model in words: `moe.gguf, llama, 26.3 MiB (random weights)`."""
    if model["file"] is None:
        return None
    weights = " (random weights)" if model["random_weights"] else ""
    architecture = model["architecture"] or "architecture not recorded"
    size = "size not recorded" if model["size_bytes"] is None else f"{model['size_bytes'] / 2**20:.1f} MiB"
    return f"{Path(model['file']).name}, {architecture}, {size}{weights}"


def _repetition(series: Mapping[str, Any]) -> str:
    """The place in a series, in words: `2 of 5; the first is run-003`."""
    return f"{series['number']} of {series['of']}; the first is {series['first_run']}"


def _limit(limit: Mapping[str, Any]) -> str:
    """A memory limit in words: `4.000 GiB, peak 3.996 GiB, reached 17 times`."""
    peak, times = _size(limit["peak_bytes"]) or "not recorded", limit["times_reached"]
    reached = "not recorded how often it was reached" if times is None else f"reached {times} times"
    return f"{_size(limit['limit_bytes'])}, peak {peak}, {reached}"


def _rate(tokens: int | None, rate: float | None) -> str | None:
    if tokens is None:
        return None
    return f"{tokens} tokens" + (f", {rate:.1f} tokens/s" if rate is not None else "")


def _share(share: float | None, size: int | None) -> str | None:
    return None if share is None else f"{share:.1%} of {_size(size)}"


def _time_by_op(ops: pd.DataFrame) -> dict[str, int]:
    """Wall time by op kind, largest first."""
    known = ops[ops["duration_ns"].notna()]
    sums = known.groupby("op", observed=True)["duration_ns"].sum().sort_values(ascending=False)
    return {str(op): int(ns) for op, ns in sums.items()}


def _size(size: int | None) -> str | None:
    """A size in words: `26.312 MiB`, `11.300 GiB`."""
    if size is None:
        return None
    return f"{size / 2**30:.3f} GiB" if size >= 1 << 30 else f"{size / 2**20:.3f} MiB"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"


def _print_pairs(pairs: Mapping[str, object], figures: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(figures, indent=1, allow_nan=False))
        return
    words = {visible(name): visible("not recorded" if value is None else str(value)) for name, value in pairs.items()}
    if sys.stdout.isatty():
        from tracegen.terminal import print_pairs

        return print_pairs(words)
    width = max(map(len, words))
    for name, value in words.items():
        print(f"{name:{width}}  {value}")


def _print_table(table: pd.DataFrame, as_json: bool) -> None:
    if as_json:
        print(table.to_json(orient="records", indent=1))
        return
    shown = table.astype(object).where(table.notna(), "–")
    for column in shown.columns:
        shown[column] = _visible(shown[column])
    if sys.stdout.isatty() and len(shown):
        from tracegen.terminal import print_table

        numbers = list(table.select_dtypes("number").columns)
        if print_table({str(name): list(shown[name]) for name in shown.columns}, numbers):
            return
    print(shown.to_string(index=False) if len(shown) else "none recorded")


def _visible(values: Iterable[object]) -> list[str]:
    return [visible(str(value)) for value in values]
