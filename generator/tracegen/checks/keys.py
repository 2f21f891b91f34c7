"""The keys of all checks: figures and stored runs name a check by its key."""

from __future__ import annotations

from enum import StrEnum


class Key(StrEnum):
    """The key of a check in run.json and on pages."""

    DROPPED_EVENTS = "dropped_events"
    TRACE_COMPLETE = "trace_complete"
    NODES_ACCOUNTED = "nodes_accounted"
    THREADS_ACCOUNTED = "threads_accounted"
    PASSES_AGREE = "passes_agree"
    TOKENS_AGREE = "tokens_agree"
    TOKENS_ASKED = "tokens_asked"
    LAYERS_AGREE = "layers_agree"
    FIRST_OP = "first_op"
    OP_MIX = "op_mix"
    OFFSETS_IN_TENSORS = "offsets_in_tensors"
    TENSORS_TILE_FILE = "tensors_tile_file"
    MONOTONE_TIME = "monotone_time"
    EVEN_CLOCK = "even_clock"
    ZERO_RECORDS = "zero_records"
    NEVER_TOUCHED = "never_touched"
    BUFFERS_BALANCE = "buffers_balance"
    ONE_RUN_ID = "one_run_id"
    PASS_KINDS = "pass_kinds"
    TIME_ACCOUNTED = "time_accounted"
    FAULTS_RECORDED = "faults_recorded"
    FAULTS_AGREE = "faults_agree"
    FAULTS_PLACED = "faults_placed"
    FAULTS_BARRIERS = "faults_barriers"
    REQUESTS_RECORDED = "requests_recorded"
    REQUESTS_AGREE = "requests_agree"
    TRACING_COST = "tracing_cost"
    INTERFERENCE = "interference"
    NOT_STOPPED = "not_stopped"
    EVEN_TOKENS = "even_tokens"
