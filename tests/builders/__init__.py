"""Builders of whole runs for tests: a small llama-shaped model, as many passes as asked for."""

from tests.builders.allocations import with_allocations
from tests.builders.devices import with_device_ops
from tests.builders.faults import with_barriers, with_faults, with_off_cpu
from tests.builders.footprint import with_footprint
from tests.builders.graph import N_CTX, N_EMBD, N_EXPERTS, N_FF, N_USED, N_VOCAB
from tests.builders.nodes import with_nodes
from tests.builders.reads import with_reads
from tests.builders.requests import with_requests
from tests.builders.runs import a_moe_run, a_run, stored, with_facts
from tests.builders.served import with_drafts, with_second_prompt
from tests.builders.tables import only, scaled_case, without

__all__ = [
    "N_CTX",
    "N_EMBD",
    "N_EXPERTS",
    "N_FF",
    "N_USED",
    "N_VOCAB",
    "a_moe_run",
    "a_run",
    "only",
    "scaled_case",
    "stored",
    "with_allocations",
    "with_barriers",
    "with_device_ops",
    "with_drafts",
    "with_facts",
    "with_faults",
    "with_footprint",
    "with_nodes",
    "with_off_cpu",
    "with_reads",
    "with_requests",
    "with_second_prompt",
    "without",
]
