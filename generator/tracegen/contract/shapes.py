"""Whether a JSON document has the form that it should have: which kinds of values stand where.

A shape is a kind of value (`str`, `int | None`), a list with the shape of its items, a tuple with one shape
(which may be null), or a mapping from keys to shapes.
A missing key is not a fault unless it is among those `NEEDED`; one that the shape lacks is none unless the
shape has `ANY`: the shape of all other keys.
"""

import math
from collections.abc import Mapping
from types import UnionType
from typing import Any

ANY, NEEDED = "*", "!"
TEXT, COUNT, NUMBER, FLAG = str | None, int | None, int | float | None, bool | None  # null: not recorded

FILE: Mapping[str, Any] = {NEEDED: ("size_bytes", "sha256"), "size_bytes": int, "sha256": str}
MANIFEST: Mapping[str, Any] = {ANY: FILE}
CHECK: Mapping[str, Any] = {ANY: str}

_MODEL: Mapping[str, Any] = {
    "file": TEXT,
    "sha256": TEXT,
    "architecture": TEXT,
    "name": TEXT,
    "size_bytes": COUNT,
    "n_files": COUNT,
    "n_tensors": COUNT,
    "n_layers": COUNT,
    "n_experts": COUNT,
    "n_experts_used": COUNT,
    "random_weights": FLAG,
    "origin": TEXT,
    "licence": TEXT,
    "metadata": ({},),
}
_EXECUTION: Mapping[str, Any] = {
    NEEDED: ("seconds", "prompt_tokens", "prompt_ms", "eval_runs", "eval_ms", "others_share", "failure"),
    "seconds": float,
    "prompt_tokens": COUNT,
    "prompt_ms": NUMBER,
    "eval_runs": COUNT,
    "eval_ms": NUMBER,
    "processor_s": NUMBER,
    "minor_faults": COUNT,
    "major_faults": COUNT,
    "read_bytes": COUNT,
    "written_bytes": COUNT,
    "others_share": NUMBER,
    "peak_bytes": COUNT,
    "times_reached": COUNT,
    "failure": TEXT,
}
# What `measure.runs.facts` and `foreign.facts` write; what a page reads of it, it takes as these kinds.
FACTS: Mapping[str, Any] = {
    "settings": {
        "question": TEXT,
        "asks": TEXT,
        "model": TEXT,
        "tokens": object,
        "flags": ([str],),
        "tags": ([str],),
        "repeat": COUNT,
        "private": FLAG,
        "cell": object,
    },
    "repetition": {NEEDED: ("number", "of"), "number": int, "of": int, "first_run": TEXT},
    "slot": {
        NEEDED: ("matrix", "factors", "round", "number", "of", "cell", "cells", "repeat"),
        "matrix": str,
        "factors": {ANY: str},
        "round": int,
        "number": int,
        "of": int,
        "cell": str,
        "cells": int,
        "repeat": int,
    },
    "control": {
        NEEDED: ("untraced", "traced", "without_limit"),
        "untraced": [_EXECUTION],
        "traced": _EXECUTION,
        "without_limit": (_EXECUTION,),
    },
    "command": [str],
    "exit_status": COUNT,
    "stopped": FLAG,
    "counted": FLAG,
    "text": {
        "prompt": TEXT,
        "generated": TEXT,
        "token_ids": object,
        "pieces": object,
        "private": FLAG,
        "restored": FLAG,
        "missing": TEXT,
    },
    "llama_cpp": {"version": TEXT, "build": ({ANY: TEXT},), "timings": ({ANY: NUMBER},), "graphs_reused": COUNT},
    "conditions": {ANY: object, "kernel": ({},), "page_cache": ({},)},
    "device": {},
    "model": _MODEL,
    "more_models": [_MODEL],
    "host": {
        "name": TEXT,
        "id": TEXT,
        "cpu": TEXT,
        "cores": COUNT,
        "memory_bytes": COUNT,
        "page_bytes": COUNT,
        "kernel": TEXT,
        "machine": TEXT,
    },
    "trace": {
        "reader": TEXT,
        "run_id": TEXT,
        "n_segments": COUNT,
        "bytes": COUNT,
        "events": COUNT,
        "records": COUNT,
        "dropped": COUNT,
        "dropped_why": TEXT,
        "unsealed_chunks": COUNT,
        "skipped_passes": COUNT,
        "environment": ({ANY: TEXT},),
        "clock": TEXT,
        "clock_why": TEXT,
        "clock_anchor": TEXT,
        "mapped_files": ([str],),
        "n_weights": COUNT,
        "n_weights_mapped": COUNT,
        "attached": FLAG,
        "faults_recorded": FLAG,
        "faults_refused": TEXT,
        "device_refused": TEXT,
        "cache_refused": TEXT,
        "requests_recorded": FLAG,
        "requests_refused": TEXT,
        "requests_lost": COUNT,
        "requests_unplaced": TEXT,
        "requests_elsewhere": COUNT,
        "requests_elsewhere_bytes": COUNT,
        "event_cost_ns": NUMBER,
        "clock_read_ns": NUMBER,
        "pass_cost_ns": NUMBER,
        "pass_cost_most_ns": NUMBER,
        "overhead_share": NUMBER,
    },
    "versions": {ANY: TEXT},
    "source": {"commit": TEXT, "dirty": FLAG},
    "stages": [{NEEDED: ("name", "seconds"), "name": str, "seconds": int | float}],
    "imported": {"format": TEXT, "identity": TEXT, "op_table": TEXT, "files": ([{}],), "left_out": ([str],)},
}
RUN: Mapping[str, Any] = {
    NEEDED: ("experiment", "number", "created", "checks", "facts"),
    "experiment": str,
    "number": int,
    "created": str,
    "checks": [CHECK],
    "facts": FACTS,
    "manifest": MANIFEST,
}


def problem(value: object, shape: Any, place: str = "") -> str:
    """What is wrong with the value: the first place that has another form, in words; empty if all is as it should be.

    A number that is not finite is wrong anywhere: no page can hold it.
    """
    if isinstance(shape, tuple):
        return "" if value is None else problem(value, shape[0], place)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _wrong(place, value, "a list")
        found = (problem(item, shape[0], f"{place}[{i}]") for i, item in enumerate(value))
        return next(filter(None, found), "")
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            return _wrong(place, value, "an object")
        lacking = next((key for key in shape.get(NEEDED, ()) if key not in value), None)
        if lacking is not None:
            return f"{f'{place}.{lacking}'.lstrip('.')} is missing"
        others = shape.get(ANY, object)
        found = (problem(item, shape.get(key, others), f"{place}.{key}".lstrip(".")) for key, item in value.items())
        return next(filter(None, found), "")
    if shape is not object and not _is(value, shape):
        return _wrong(place, value, _named(shape))
    return _not_finite(value, place)


def _is(value: object, kind: type | UnionType) -> bool:
    """Whether the value is of this kind; true and false are no numbers."""
    return isinstance(value, kind) and (not isinstance(value, bool) or bool in getattr(kind, "__args__", (kind,)))


def _named(kind: type | UnionType) -> str:
    words: Mapping[Any, str] = {
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "null",
    }
    return " or ".join(words[one] for one in getattr(kind, "__args__", (kind,)))


def _wrong(place: str, value: object, wanted: str) -> str:
    text = repr(value)
    return f"{place or 'the document'} is {text if len(text) <= 60 else text[:57] + '…'}, not {wanted}"


def _not_finite(value: object, place: str) -> str:
    """The place of the first number in the value that is not finite; empty if there is none."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place} is not a number that can be written"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next(filter(None, (_not_finite(item, f"{place}.{key}") for key, item in items)), "")
    return ""
