"""What `run.json` said of the sample's run beside its checks, as the provenance page of sample@v1 tells it."""

from collections.abc import Mapping
from typing import Any

MODEL = "/home/ada/models/moe.gguf"
PROMPT = "Hello from the sample run."

FIRST: Mapping[str, Any] = {
    "settings": {
        "question": "How much of a small mixture-of-experts model does one token read?",
        "model": "moe",
        "tokens": 8,
        "seed": 42,
        "threads": 2,
        "context": 256,
        "ubatch": 512,
        "warmup": True,
        "repack": True,
        "mmap": True,
        "flash_attention": "auto",
        "private": False,
        "timeout_s": 3600,
        "max_trace_bytes": 8 << 30,
        "flags": [],
        "prefault": True,
    },
    "command": ["/home/ada/llama/bin/llama-completion", "-m", MODEL, "-p", PROMPT, "-n", "8"],
    "exit_status": 0,
    "text": {
        "prompt": PROMPT,
        "generated": " be buffer value each short high be edge",
        "token_ids": [619, 658, 648, 673, 682, 693, 619, 657],
        "private": False,
    },
    "llama_cpp": {
        "version": "0.3.36",
        "build": {
            "build.compiler": "12.2.0",
            "build.flags": "Release GNU native=ON openmp=ON shared=ON",
            "ggml.commit": "unknown",
            "ggml.version": "0.25.3",
        },
        "timings": {
            "load_ms": 32.59,
            "prompt_ms": 4.05,
            "prompt_tokens": 15,
            "eval_ms": 3.96,
            "eval_runs": 7,
            "total_ms": 8.88,
            "graphs_reused": 6,
        },
        "graphs_reused": 6,
    },
    "model": {
        "file": MODEL,
        "sha256": "683bb9b996b043c2d092a1bbc704656f0a4a7e4c4f22ff1b168496a39342bd3b",
        "architecture": "llama",
        "name": "tracegen moe (random weights)",
        "size_bytes": 27_587_648,
        "n_files": 1,
        "n_tensors": 43,
        "n_layers": 4,
        "n_experts": 8,
        "n_experts_used": 2,
        "random_weights": True,
        "metadata": {"general.architecture": "llama", "llama.block_count": 4, "llama.expert_count": 8},
    },
    "host": {
        "name": "countess",
        "cpu": "AMD EPYC",
        "cores": 2,
        "memory_bytes": 25_276_514_304,
        "kernel": "Linux 6.18.44",
        "machine": "x86_64",
    },
    "trace": {
        "reader": "native-1",
        "run_id": "b17d6e11e4dfc1fe928d71689d47b5a3",
        "n_segments": 3,
        "bytes": 290_816,
        "events": 2_151,
        "records": 676,
        "dropped": 0,
        "dropped_why": None,
        "unsealed_chunks": 0,
        "environment": {"GGML_NO_BACKTRACE": "1", "KMP_BLOCKTIME": "200"},
        "mapped_files": [MODEL],
        "n_weights": 43,
        "clock_anchor": "9649388494647 1795182298334973078",
        "n_weights_mapped": 43,
        "event_cost_ns": 52.53,
        "clock_read_ns": 24.55,
        "overhead_share": 0.00593,
    },
    "versions": {"tracegen": "0.1.0", "python": "3.11.7", "pandas": "3.1.1"},
    "source": {"commit": "09b033f0b1715a913eff9f2885fa099b689baf6e", "dirty": True},
    "stages": [
        {"name": name, "seconds": seconds}
        for name, seconds in (
            ("verify", 0.038),
            ("capture", 0.101),
            ("memory map", 0.057),
            ("read", 0.152),
            ("check", 0.055),
            ("store", 0.083),
        )
    ],
}

# what later tracegens said beside it, by the number of the set of tables
SINCE: Mapping[int, Mapping[str, Mapping[str, Any]]] = {
    2: {
        "settings": {"page_cache": "as is", "residency": False, "processors": "as is", "nice": "as is"},
        "conditions": {
            "storage": None,
            "kernel": {"vm.swappiness": "60"},
            "page_cache": {"before_bytes": 27_590_656, "after_bytes": 27_590_656},
        },
        "trace": {"clock": "tsc", "clock_why": None, "skipped_passes": 0, "pass_cost_ns": 6100.0},
    },
    3: {
        "settings": {"repeat": 1, "mlock_gb": "none", "memory_limit_gb": "as is"},
        "host": {"page_bytes": 4096},
        "trace": {"attached": False, "pass_cost_most_ns": 9000.0},
    },
}


def facts_of(number: int) -> dict[str, Any]:
    """The facts as they were with this set of tables."""
    groups = {group: dict(value) if isinstance(value, Mapping) else value for group, value in FIRST.items()}
    if number > 1:
        groups |= {"stopped": False, "counted": True, "more_models": []}
    for later in range(2, number + 1):
        for group, more in SINCE[later].items():
            groups[group] = {**groups.get(group, {}), **more}
    return groups
