"""The provenance page: where every number comes from, and how to make it again."""

from __future__ import annotations

import hashlib
import io
import shlex
from typing import Any

import pandas as pd

from tracegen.analysis import held
from tracegen.figures.context import Context, group_of, text_of
from tracegen.pages.overview import generated_text
from tracegen.pages.views import Cell, Fact, Group, Head, TableView, cells, table
from tracegen.tables import BY_NAME
from tracegen.words import quantities as q

SMALL = 200_000  # bytes of CSV up to which a table is offered as CSV too


def provenance(context: Context) -> dict[str, Any]:
    """Everything the template of the provenance page prints; writes the tables for download."""
    settings = {
        k: v
        for k, v in (context.fact("settings") or {}).items()
        if not (context.private and k in ("prompt", "prompt_file"))
    }
    return {
        "command": _command(context),
        "groups": [
            group_of("settings", "Settings", settings, "What was asked for; llama.cpp may round it: see its contexts."),
            *_when_asked(context, ("repetition", "Repetition", ("repetition",), "Which run of a series this is.")),
            _contexts(context),
            _model(context),
            group_of("host", "Host", _sized(context.fact("host"))),
            *(
                group_of(key, title, _sized(context.fact("conditions", key)))
                for key, title in (
                    ("page_cache", "Page cache of the model’s files"),
                    ("storage", "Storage"),
                    ("kernel", "Kernel"),
                )
            ),
            *_when_asked(
                context,
                (
                    "mlock",
                    "Memory locked beside the program",
                    ("conditions", "mlock"),
                    "Taken from everybody while the program ran.",
                ),
                (
                    "memory-limit",
                    "Limit to the program’s memory",
                    ("conditions", "memory_limit"),
                    "Its own memory counts, and the pages of model and trace that it was the first to use.",
                ),
            ),
            group_of(
                "llama-cpp",
                "llama.cpp",
                context.fact("llama_cpp"),
                "Its own version, build flags, timings and counters. Without a warm-up its load time holds the prompt.",
            ),
            _trace(context),
            group_of("environment", "Environment of the traced process", context.fact("trace", "environment")),
            group_of("versions", "Versions", context.fact("versions")),
            group_of("source", "Source of the experiment", context.fact("source")),
            _stages(context),
        ],
        "metadata": group_of("metadata", "Model metadata", context.fact("model", "metadata")),
        "text": generated_text(context),
        "tokens": tokens_table(context),
        "files": _files(context),
        "downloads": _downloads(context),
    }


def _command(context: Context) -> str:
    """The command line, quoted for a shell; a private run comes here without its arguments."""
    words = context.fact("command")
    return shlex.join(map(q.printable, words)) if isinstance(words, (list, tuple)) else ""


def _sized(facts: Any) -> Any:
    """Facts with sizes and times put into words; the exact number stays beside it."""
    if not isinstance(facts, dict):
        return facts
    made = {}
    for name, value in facts.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and (name.endswith("_bytes") or name == "bytes"):
            made[name] = f"{q.size(value)} ({q.count(value)} bytes)"
        elif number and name.endswith("share"):
            made[name] = q.percent(value)
        elif number and isinstance(value, int):
            made[name] = q.count(value)
        else:
            made[name] = value
    return made


def _when_asked(context: Context, *wanted: tuple[str, str, tuple[str, ...], str]) -> list[Group]:
    """Groups (key, title, where their facts are, note) that stand on the page only when the run has them."""
    found = [(key, title, context.fact(*path), note) for key, title, path, note in wanted]
    return [group_of(key, title, _sized(facts), note) for key, title, facts, note in found if facts]


def _model(context: Context) -> Group:
    facts = {k: v for k, v in (context.fact("model") or {}).items() if k != "metadata"}
    note = (
        "The weights are random: text, experts and timings of branches say nothing about a trained model."
        if context.flag("model", "random_weights")
        else ""
    )
    more = context.fact("more_models") or []
    for number, other in enumerate(more, 2):
        facts |= {f"model {number}: {key}": value for key, value in other.items() if key != "metadata"}
    return group_of("model", "Models" if more else "Model", _sized(facts), note)


def _contexts(context: Context) -> Group:
    """What llama.cpp made of the settings: each context with its sizes."""
    rows = context.tables["contexts"].to_dict("records")
    facts = tuple(
        Fact(name if len(rows) == 1 else f"{name} of context {row['context']}", value)
        for row in rows
        for name, value in (
            ("context size", _tokens_of(row["n_ctx"])),
            ("logical batch", _tokens_of(row["n_batch"])),
            ("ubatch", _tokens_of(row["n_ubatch"])),
            ("K cache", text_of(row["type_k"] if q.known(row["type_k"]) else None)),
            ("V cache", text_of(row["type_v"] if q.known(row["type_v"]) else None)),
            ("threads for one token", q.count(row["n_threads"])),
        )
    )
    return Group("contexts", "llama.cpp’s contexts", facts, "What llama.cpp used." if facts else "Not recorded.")


def _tokens_of(count: Any) -> str:
    return q.counted(int(count), "token") if q.known(count) else q.UNKNOWN


def _trace(context: Context) -> Group:
    facts = {k: v for k, v in (context.fact("trace") or {}).items() if k != "environment"}
    return group_of(
        "trace",
        "Trace and its cost",
        _sized(facts),
        "Overhead: events times the cost of one, measured at start-up, against the passes' time.",
    )


def _stages(context: Context) -> Group:
    stages = context.fact("stages")
    if not isinstance(stages, (list, tuple)) or not stages:
        return Group("stages", "Stages", (), "Not recorded.")
    facts = tuple(
        Fact(q.printable(s.get("name")), f"{text_of(s.get('seconds'))} s") for s in stages if isinstance(s, dict)
    )
    return Group("stages", "Stages", facts)


def tokens_table(context: Context) -> TableView:
    """Each generated token with its id, the pass that gave it, and the pass that then held it."""
    refused = context.refusal("generated-tokens")
    ids = [] if context.private or refused else context.fact("text", "token_ids") or []
    holder, last = {k: pass_id for pass_id, k in context.held.items()}, held.last_given(context.tables)
    m = context.measured.dropna(subset=["produced_token"]).set_index("produced_token")
    rows, frame = [], []
    for k, token in enumerate(ids):
        found = m.loc[k] if k in m.index else None
        if isinstance(found, pd.DataFrame):
            found = found.iloc[0]
        pass_id = None if found is None else int(found["pass_id"])
        link = "" if pass_id is None else f"../operations/index.html#pass={pass_id}"
        length = None if found is None else found["duration_ns"]
        holds = holder.get(k)
        frame.append((k, token, pass_id, holds))
        if k < 500:
            rows.append(
                cells(
                    Cell(str(k), number=True),
                    Cell(str(token), number=True),
                    Cell(q.UNKNOWN if pass_id is None else str(pass_id), number=True, href=link),
                    _holder(holds, k == last),
                    Cell(q.duration(length), number=True),
                )
            )
    reason = (
        "Withheld: the experiment is private."
        if context.private
        else refused or "Which tokens were sampled was not recorded; the table of tokens has those that were evaluated."
    )
    columns = ["token", "token_id", "pass_id", "held_by_pass"]
    path = (
        context.csv("generated-tokens", pd.DataFrame(frame, columns=columns).astype({"held_by_pass": "Int32"}))
        if frame
        else ""
    )
    none = "" if last is None else "; empty for the last token, which no recorded pass took in"
    more = f" The first 500 of {len(ids)}; the CSV has all." if len(ids) > 500 else ""
    return table(
        "generated-tokens",
        "Which pass gave which token?",
        f"Generated tokens in order, token 0 comes from the prompt; {q.counted(len(ids), 'token')}. Held by pass: the "
        f"one that then took the token in as its row{none}.{more}",
        (
            Head("Token", number=True),
            Head("Id", number=True),
            Head("Given by pass", number=True),
            Head("Held by pass", number=True),
            Head("Duration of the pass that gave it", number=True),
        ),
        rows,
        reason,
        path,
    )


def _holder(pass_id: int | None, is_last: bool) -> Cell:
    """The pass whose row holds a token; empty where none does."""
    if pass_id is None:
        return Cell("" if is_last else q.UNKNOWN, number=True)
    return Cell(str(pass_id), number=True, href=f"../operations/index.html#pass={pass_id}")


def _files(context: Context) -> TableView:
    rows = [
        cells(
            Cell(q.printable(f["path"]), code=True),
            Cell(q.size(f["size_bytes"]), number=True, exact=f"{q.count(f['size_bytes'])} bytes"),
            Cell(q.printable(f["sha256"]) if q.known(f["sha256"]) else q.UNKNOWN, code=True),
        )
        for f in context.tables["files"].to_dict("records")
    ]
    return table(
        "model-files",
        "Model files",
        "The files the model was loaded from, with the hash of the whole file.",
        (Head("File"), Head("Size", number=True), Head("sha256")),
        rows,
        "The trace names no model file.",
        context.csv("model-files", context.tables["files"]),
    )


def _downloads(context: Context) -> TableView:
    """Every table as Parquet, small ones as CSV too."""
    rows = []
    for name, contract in BY_NAME.items():
        frame = context.tables[name]
        parquet = to_parquet(frame)
        path = context.files.add(f"data/tables/{name}.parquet", parquet)
        csv = ""
        if frame.memory_usage(index=False).sum() < 8 * SMALL:
            text = frame.to_csv(index=False, lineterminator="\n")
            csv = context.files.add(f"data/tables/{name}.csv", text) if len(text) <= SMALL else ""
        rows.append(
            cells(
                Cell(name, code=True),
                contract.meaning,
                Cell(q.count(len(frame)), number=True),
                Cell(f"Parquet, {q.size(len(parquet))}", href=f"../{path}"),
                Cell("CSV" if csv else "", href=f"../{csv}" if csv else ""),
                Cell(hashlib.sha256(parquet).hexdigest()[:16], code=True, exact=hashlib.sha256(parquet).hexdigest()),
            )
        )
    return table(
        "downloads",
        "Downloads",
        "Every table of the run; columns, units and meanings are those of the data dictionary. The hash is that of "
        "the Parquet file, its first 16 digits.",
        (Head("Table"), Head("A row is"), Head("Rows", number=True), Head("File"), Head("Plain text"), Head("sha256")),
        rows,
    )


def to_parquet(frame: pd.DataFrame) -> bytes:
    """A table as a Parquet file (zstd)."""
    stream = io.BytesIO()
    frame.to_parquet(stream, compression="zstd", index=False)
    return stream.getvalue()
