"""What `run.json` says of a run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tests.builders.graph import N_EXPERTS, N_USED
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check, Run
from tracegen.contract.records import decode, encode
from tracegen.storing import store


def a_run(*, checks: tuple[Check, ...] = (), **facts: Any) -> Run:
    """A run with most facts filled in; name a group to replace it."""
    known: dict[str, Any] = dict(
        settings=dict(
            model="demo",
            prompt="Once upon a time",
            tokens=6,
            seed=42,
            threads=2,
            mmap=True,
            repack=True,
            warmup=True,
            prefault=True,
        ),
        command=["llama-completion", "-m", "model.gguf", "-p", "Once upon a time", "-n", "6", "-no-cnv"],
        text=dict(
            prompt="Once upon a time",
            generated=" there was a very small model.",
            token_ids=[11, 42, 7, 5, 3, 9],
            pieces={"11": " there", "42": " was", "7": " a", "5": " very", "3": " small", "9": " model."},
            private=False,
        ),
        llama_cpp=dict(
            version="0.3.36",
            build=dict(GGML_TENSOR_TRACE="ON"),
            timings=dict(prompt_ms=1.4, prompt_tokens=6, eval_ms=2.5, eval_runs=5, load_ms=1.9),
            graphs_reused=4,
        ),
        model=dict(
            file="model.gguf",
            sha256="ab" * 32,
            architecture="llama",
            name="demo",
            size_bytes=5_000_000,
            n_tensors=39,
            n_layers=4,
            n_experts=None,
            random_weights=True,
            metadata={"general.architecture": "llama", "llama.block_count": 4},
        ),
        host=dict(cpu="Example CPU", cores=2, memory_bytes=8 << 30, kernel="6.1.0", os="Debian GNU/Linux 12"),
        trace=dict(
            run_id="00c0ffee",
            bytes=123_456,
            events=4_321,
            dropped=0,
            event_cost_ns=47.0,
            clock_read_ns=19.0,
            overhead_share=0.004,
            environment=dict(OMP_NUM_THREADS="2"),
            begin_wall="2026-11-20T12:00:00Z",
        ),
        versions=dict(tracegen="0.1.0", python="3.11.2"),
        source=dict(commit="3b705b5", dirty=False),
        stages=[dict(name="capture", seconds=2.1), dict(name="read", seconds=0.4)],
    )
    default = (
        Check("dropped_events", "No event was dropped", "passed", "0", "0"),
        Check("nodes_accounted", "Every node is accounted for", "passed", "100 %", "100 %"),
        Check("tracing_cost", "Tracing costs little", "warning", "2.1 %", "≤ 1 %, fails at 10 %", "A busy machine."),
        Check("interference", "Nothing interfered", "not checked", "", ""),
    )
    return Run("demo", 3, "2026-11-20T12:00:00Z", checks or default, decode(Facts, known | encode(facts)))


def a_moe_run(**more: Any) -> Run:
    """`a_run` whose model says that it has experts, as that of `scaled_case(moe=True)` does."""
    model = {**facts_of(a_run())["model"], "n_experts": N_EXPERTS, "n_experts_used": N_USED}
    return a_run(**({"model": model} | more))


def facts_of(run: Run) -> dict[str, Any]:
    """The document of a run's facts."""
    document: dict[str, Any] = encode(run.facts)
    return document


def with_groups(run: Run, **groups: Any) -> Run:
    """The run with these groups in place of those of its facts; each is a document or a record."""
    return replace(run, facts=decode(Facts, facts_of(run) | encode(groups)))


def with_facts(run: Run, **groups: Mapping[str, Any]) -> Run:
    """The run with these entries of its facts changed, group by group."""
    known = facts_of(run)
    return with_groups(run, **{name: {**known[name], **of} for name, of in groups.items()})


def stored(experiments: Path, run: Run, tables: Mapping[str, pd.DataFrame]) -> Run:
    """Store a run as `measure` does, and read it back."""
    target = experiments / run.experiment / "runs" / f"{run.number:03d}"
    with store.whole_folder(target) as beside:
        store.write_tables(beside / "tables", dict(tables), "test 1")
        store.write_run_file(beside, run)
    return store.read_run(target)
