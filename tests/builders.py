# ruff: noqa: E501
"""Builders of whole runs for tests: a small llama-shaped model, as many passes as asked for.

The graph has the habits of a real one: a shared position leaf and mask that every layer
reads, RMS_NORM fused into MUL, views that compute nothing, a KV cache written by SET_ROWS.
Times come from a small integer recurrence, so that every build of the data is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from tracegen.model import Check, Run
from tracegen.tables import empty, frame

ELEMENT = {"F32": (4, 1), "F16": (2, 1), "I32": (4, 1), "I64": (8, 1), "Q4_0": (18, 32)}
N_EMBD, N_FF, N_VOCAB, N_EXPERTS, N_USED, N_CTX = 256, 512, 1000, 8, 2, 256
ALIGN = 32


@dataclass
class _Graph:
    """Nodes and edges of one graph under construction; leaves are numbered after the nodes."""

    graph: int
    tokens: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    leaves: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[tuple[str | int, int, int]] = field(default_factory=list)

    def leaf(self, name: str, component: str, dtype: str, shape: tuple[int, ...], layer: int | None = None) -> str:
        if name not in self.leaves:
            self.leaves[name] = _shaped(name, "leaf", "NONE", component, dtype, shape, layer)
        return name

    def op(
        self, op: str, name: str, component: str, shape: tuple[int, ...], sources: list[str | int],
        layer: int | None = None, dtype: str = "F32", kind: str = "op", view_of: int | None = None,
    ) -> int:  # fmt: skip
        number = len(self.nodes)
        self.nodes.append(_shaped(name, kind, op, component, dtype, shape, layer) | {"view_of": view_of})
        self.edges += [(source, number, slot) for slot, source in enumerate(sources)]
        return number

    def rows(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows of graph_nodes and graph_edges."""
        place = {name: len(self.nodes) + i for i, name in enumerate(self.leaves)}
        everything = [*self.nodes, *self.leaves.values()]
        nodes = [dict(row, graph=self.graph, node=number) for number, row in enumerate(everything)]
        edges = [
            dict(graph=self.graph, source=place[s] if isinstance(s, str) else s, target=t, slot=f"src{slot}")
            for s, t, slot in self.edges
        ]
        return nodes, edges


def _shaped(
    name: str, kind: str, op: str, component: str, dtype: str, shape: tuple[int, ...], layer: int | None
) -> dict[str, Any]:
    size, block = ELEMENT[dtype]
    ne = [*shape, 1, 1, 1][:4]
    nb = [size, size * ne[0] // block]
    nb += [nb[1] * ne[1], nb[1] * ne[1] * ne[2]]
    made: dict[str, Any] = dict(kind=kind, op=op, name=name, layer=layer, component=component, dtype=dtype)
    made |= {f"ne{i}": ne[i] for i in range(4)} | {f"nb{i}": nb[i] for i in range(4)}
    return made | dict(size_bytes=nb[3] * ne[3], op_params="", compute=True, view_of=None, view_offset_bytes=0)


def _build(graph: int, tokens: int, layers: int, moe: bool, prefix: str) -> _Graph:
    g = _Graph(graph, tokens)
    position, mask = (
        g.leaf("inp_pos", "other", "I32", (tokens,)),
        g.leaf("attn_inp_kq_mask", "other", "F32", (N_CTX, tokens)),
    )
    mask_copy = g.op("CPY", "attn_inp_kq_mask (copy)", "other", (N_CTX, tokens), [mask], dtype="F16")
    table = g.leaf(f"{prefix}token_embd.weight", "embedding", "F16", (N_EMBD, N_VOCAB))
    state = g.op(
        "GET_ROWS", "inp_embd", "embedding", (N_EMBD, tokens), [table, g.leaf("inp_tokens", "other", "I32", (tokens,))]
    )
    for layer in range(layers):
        state = _layer(g, layer, state, position, mask_copy, moe)
    norm = g.op("RMS_NORM", "norm", "norm", (N_EMBD, tokens), [state])
    norm = g.op(
        "MUL", "result_norm", "norm", (N_EMBD, tokens), [norm, g.leaf("output_norm.weight", "norm", "F32", (N_EMBD,))]
    )
    head = g.leaf("output.weight", "output", "Q4_0", (N_EMBD, N_VOCAB))
    g.op("MUL_MAT", "result_output", "output", (N_VOCAB, tokens), [head, norm])
    return g


def _layer(g: _Graph, layer: int, state: int, position: str, mask: int, moe: bool) -> int:
    def weight(part: str, component: str, *shape: int, dtype: str = "Q4_0") -> str:
        return g.leaf(f"blk.{layer}.{part}.weight", component, dtype, shape, layer)

    def op(op_name: str, name: str, component: str, shape: tuple[int, ...], *sources: str | int, **more: Any) -> int:
        return g.op(op_name, f"{name}-{layer}", component, shape, list(sources), layer, **more)

    row, n = (N_EMBD, g.tokens), g.tokens
    norm = op("RMS_NORM", "norm", "norm", row, state)
    norm = op("MUL", "attn_norm", "norm", row, norm, weight("attn_norm", "norm", N_EMBD, dtype="F32"))
    heads = {}
    for letter in "qkv":
        component = f"attention_{letter}"
        made = op(
            "MUL_MAT", f"{letter.upper()}cur", component, row, weight(f"attn_{letter}", component, N_EMBD, N_EMBD), norm
        )
        made = op("RESHAPE", f"{letter.upper()}cur (reshaped)", component, (64, 4, n), made, kind="noop", view_of=made)
        heads[letter] = (
            made if letter == "v" else op("ROPE", f"{letter.upper()}cur", component, (64, 4, n), made, position)
        )
    caches = []
    for letter in "kv":
        cache = g.leaf(f"cache_{letter}_l{layer}", "kv_cache", "F16", (N_EMBD, N_CTX), layer)
        index = g.leaf(f"inp_{letter}_idxs", "other", "I64", (n,))
        flat = op(
            "VIEW", f"{letter.upper()}cur (view)", "kv_cache", row, heads[letter], kind="noop", view_of=heads[letter]
        )
        caches.append(
            op(
                "SET_ROWS",
                f"cache_{letter}_l{layer} (view)",
                "kv_cache",
                (N_EMBD, N_CTX),
                flat,
                index,
                cache,
                dtype="F16",
            )
        )
    attention = op("FLASH_ATTN_EXT", "__fattn__", "attention", (64, 4, n), heads["q"], *caches, mask)
    flat = op("RESHAPE", "kqv_out", "attention", row, attention, kind="noop", view_of=attention)
    out = op(
        "MUL_MAT", "attn_out", "attention_output", row, weight("attn_output", "attention_output", N_EMBD, N_EMBD), flat
    )
    middle = op("ADD", "ffn_inp", "other", row, out, state)
    norm = op("RMS_NORM", "norm", "norm", row, middle)
    norm = op("MUL", "ffn_norm", "norm", row, norm, weight("ffn_norm", "norm", N_EMBD, dtype="F32"))
    down = _experts(g, layer, norm, weight, op) if moe else _dense(g, norm, weight, op)
    return op("ADD", "l_out", "other", row, down, middle)


def _dense(g: _Graph, norm: int, weight: Any, op: Any) -> int:
    wide = (N_FF, g.tokens)
    gate = op("MUL_MAT", "ffn_gate", "ffn_gate", wide, weight("ffn_gate", "ffn_gate", N_EMBD, N_FF), norm)
    up = op("MUL_MAT", "ffn_up", "ffn_up", wide, weight("ffn_up", "ffn_up", N_EMBD, N_FF), norm)
    both = op("GLU", "ffn_swiglu", "ffn_gate", wide, gate, up)
    return int(
        op("MUL_MAT", "ffn_out", "ffn_down", (N_EMBD, g.tokens), weight("ffn_down", "ffn_down", N_FF, N_EMBD), both)
    )


def _experts(g: _Graph, layer: int, norm: int, weight: Any, op: Any) -> int:
    n, wide = g.tokens, (N_FF, N_USED, g.tokens)
    logits = op(
        "MUL_MAT",
        "ffn_moe_logits",
        "router",
        (N_EXPERTS, n),
        weight("ffn_gate_inp", "router", N_EMBD, N_EXPERTS, dtype="F32"),
        norm,
    )
    probs = op("SOFT_MAX", "ffn_moe_probs", "router", (N_EXPERTS, n), logits)
    order = op("ARGSORT", "ffn_moe_argsort", "router", (N_EXPERTS, n), probs, dtype="I32")
    chosen = op("VIEW", "ffn_moe_topk", "router", (N_USED, n), order, kind="noop", dtype="I32", view_of=order)
    stack = {
        p: weight(f"ffn_{p}_exps", f"expert_{p}", *((N_FF, N_EMBD) if p == "down" else (N_EMBD, N_FF)), N_EXPERTS)
        for p in ("gate", "up", "down")
    }
    gate = op("MUL_MAT_ID", "ffn_moe_gate", "expert_gate", wide, stack["gate"], norm, chosen)
    up = op("MUL_MAT_ID", "ffn_moe_up", "expert_up", wide, stack["up"], norm, chosen)
    both = op("GLU", "ffn_moe_swiglu", "expert_gate", wide, gate, up)
    down = op("MUL_MAT_ID", "ffn_moe_down", "expert_down", (N_EMBD, N_USED, n), stack["down"], both, chosen)
    return int(op("ADD", "ffn_moe_out", "expert_down", (N_EMBD, n), down, down))


def scaled_case(
    n_generate: int = 5, n_layers: int = 4, n_prompt: int = 6, *, moe: bool = False, copied: bool = True,
    splits: int = 1, threads: int = 2, prefix: str = "", warmup: bool = True,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """All tables of a plausible run: load, warm-up, one prompt pass and `n_generate` generate passes."""
    tables = empty()
    graphs = [_build(0, n_prompt, n_layers, moe, prefix), _build(1, 1, n_layers, moe, prefix)]
    built = [g.rows() for g in graphs]
    tables["graph_nodes"] = frame("graph_nodes", [n for nodes, _ in built for n in nodes])
    tables["graph_edges"] = frame("graph_edges", [e for _, edges in built for e in edges])
    tables["graphs"] = frame("graphs", [
        dict(graph=g.graph, topology="7090109f", n_nodes=len(g.nodes), n_leafs=len(g.leaves)) for g in graphs
    ])  # fmt: skip
    tensors, files = _files(graphs[0], splits)
    tables["tensors"], tables["files"] = frame("tensors", tensors), frame("files", files)
    tables["contexts"] = frame(
        "contexts",
        [
            dict(
                context=0,
                model=0,
                n_ctx=N_CTX,
                n_batch=512,
                n_ubatch=512,
                type_k="f16",
                type_v="f16",
                n_threads=threads,
            )
        ],
    )
    placements, sizes = _placements(built, tensors, copied)
    tables["placements"] = frame("placements", placements)
    tables["buffers"] = frame("buffers", _buffers(sizes))
    rows = _passes(built, n_generate, n_prompt, threads, moe, n_layers, warmup)
    for name, made in rows.items():
        if made:
            tables[name] = frame(name, made)
    return tables


def _files(g: _Graph, splits: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    weights = [leaf for name, leaf in g.leaves.items() if name.endswith(".weight")]
    weights.append(_shaped("rope_freqs.weight", "leaf", "NONE", "other", "F32", (4096,), None))
    per_file = -(-len(weights) // splits)
    tensors: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    axis = 0
    for number in range(splits):
        offset = 4096
        for leaf in weights[number * per_file : (number + 1) * per_file]:
            entry = {
                k: leaf[k] for k in ("name", "size_bytes", "dtype", "ne0", "ne1", "ne2", "ne3", "layer", "component")
            }
            experts = leaf["ne2"] if leaf["component"].startswith("expert") else None
            tensors.append(entry | dict(tensor=len(tensors), file=number, offset=offset, n_experts=experts))
            offset += -(-leaf["size_bytes"] // ALIGN) * ALIGN
        name = "model.gguf" if splits == 1 else f"model-{number + 1:05d}-of-{splits:05d}.gguf"
        files.append(
            dict(
                file=number,
                model=0,
                split_index=number,
                path=name,
                size_bytes=offset,
                axis_begin=axis,
                sha256="ab" * 32,
            )
        )
        axis += offset
    return tensors, files


def _placements(
    built: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]], tensors: list[dict[str, Any]], copied: bool
) -> tuple[list[dict[str, Any]], dict[int, int]]:
    by_name = {t["name"]: t for t in tensors}
    sizes = {1: 0, 2: 0, 3: 0}
    rows = []
    for graph, (nodes, _) in enumerate(built):
        copy_at, kv_at, compute_at = 0, 0, 0
        for node in nodes:
            row = dict(placement=graph, graph=graph, node=node["node"], size_bytes=node["size_bytes"])
            tensor = by_name.get(node["name"])
            if tensor is not None:
                where = dict(
                    tensor=tensor["tensor"], file=tensor["file"], origin_offset=tensor["offset"], memory="disk"
                )
                if copied and node["dtype"] == "Q4_0" and node["component"] != "output":
                    where |= dict(memory="copied", buffer_id=1, buffer_offset=copy_at)
                    copy_at += node["size_bytes"]
            elif node["name"].startswith("cache_") and node["kind"] == "leaf":
                where = dict(memory="buffer", buffer_id=2, buffer_offset=kv_at)
                kv_at += node["size_bytes"]
            elif node["name"].startswith("cache_"):
                where = dict(memory="buffer", buffer_id=2, buffer_offset=0)
            else:
                where = dict(memory="buffer", buffer_id=3, buffer_offset=compute_at % (1 << 18))
                compute_at += 4096
            rows.append(row | where | dict(address=0x10000 + node["node"] * 64))
        sizes = {1: max(sizes[1], copy_at), 2: max(sizes[2], kv_at), 3: 1 << 19}
    return rows, sizes


def _buffers(sizes: dict[int, int]) -> list[dict[str, Any]]:
    about = {1: ("CPU_REPACK", "weights", 2_000), 2: ("CPU", "any", 2_000_000), 3: ("CPU", "compute", 2_500_000)}
    made = []
    for number, (name, usage, begin) in about.items():
        if sizes[number]:
            row = dict(
                buffer_id=number, address=0x10000, name=name, backend="CPU", usage=usage, size_bytes=sizes[number]
            )
            made += [row | dict(event="alloc", time_ns=begin), row | dict(event="free", time_ns=10**9 - number)]
    return made


def _passes(
    built: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]], n_generate: int, n_prompt: int, threads: int,
    moe: bool, n_layers: int, warmup: bool,
) -> dict[str, list[dict[str, Any]]]:  # fmt: skip
    made: dict[str, list[dict[str, Any]]] = {k: [] for k in ("passes", "tokens", "ops", "spans", "touches", "routing")}
    none = dict(minor_faults=0, major_faults=0, voluntary_switches=3, involuntary_switches=0, read_bytes=0)
    made["passes"].append(dict(pass_id=0, kind="load", kind_basis="recorded", begin_ns=1_000, end_ns=1_900_000) | none)
    kinds = [*(["warmup"] if warmup else []), "prompt", *["generate"] * n_generate]
    clock, position = 3_000_000, 0
    for number, kind in enumerate(kinds, start=1):
        graph = 1 if kind == "generate" else 0
        tokens = 1 if kind == "generate" else n_prompt
        produced = None if kind == "warmup" else number - kinds.index("prompt") - 1
        begin = clock
        clock = _ops(made, built[graph][0], number, begin, threads, tokens, kind)
        _touches(made, built[graph], number, tokens, moe and kind != "warmup", n_layers)
        made["passes"].append(dict(
            pass_id=number, context=0, call=number - 1, ubatch=0, kind=kind, kind_basis="recorded", n_tokens=tokens,
            n_sequences=1, n_outputs=1, position_begin=position, produced_token=produced, graph=graph,
            placement=graph, begin_ns=begin, end_ns=clock) | none)  # fmt: skip
        made["tokens"] += [
            dict(
                pass_id=number,
                row=r,
                token_id=(7 * number + 3 * r) % N_VOCAB,
                position=position + r,
                sequence=0,
                output=r == tokens - 1,
                generated_token=produced - 1 if kind == "generate" else None,
            )
            for r in range(tokens)
        ]
        position += 0 if kind == "warmup" else tokens
        clock += 40_000
    return made


def _ops(
    made: dict[str, list[dict[str, Any]]],
    nodes: list[dict[str, Any]],
    pass_id: int,
    begin: int,
    threads: int,
    tokens: int,
    kind: str,
) -> int:
    at = begin + 500
    for node in nodes:
        if node["kind"] == "leaf":
            continue
        row: dict[str, Any] = dict(pass_id=pass_id, node=node["node"], backend="CPU", split=0)
        if node["kind"] == "noop":
            made["ops"].append(row | dict(state="noop", time_basis="graph only"))
            continue
        if node["op"] == "RMS_NORM":
            made["ops"].append(row | dict(state="fused", fused_into=node["node"] + 1, time_basis="graph only"))
            continue
        heavy = node["op"].startswith("MUL_MAT") or node["op"] == "FLASH_ATTN_EXT"
        length = (node["size_bytes"] * (9 if heavy else 1) // 4 + 700) + (node["node"] * 37 + pass_id * 53) % 211
        last = at
        for thread in range(threads):
            late, inside = 15 * thread, (60 if heavy else 0) * thread
            work = length - 40 * thread - inside
            made["spans"].append(
                dict(
                    pass_id=pass_id,
                    node=node["node"],
                    thread=thread,
                    begin_ns=at + late,
                    work_ns=work,
                    barrier_ns=inside,
                    wait_ns=90 + 25 * thread,
                )
            )
            last = max(last, at + late + work + inside)
        made["ops"].append(
            row | dict(state="executed", n_threads=threads, begin_ns=at, end_ns=last, time_basis="measured")
        )
        at = last + 120
    return at


def _touches(
    made: dict[str, list[dict[str, Any]]],
    built: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    pass_id: int,
    tokens: int,
    moe: bool,
    n_layers: int,
) -> None:
    routes = {
        layer: [
            [(row * 3 + pass_id * 5 + layer + 3 * rank) % N_EXPERTS for rank in range(N_USED)] for row in range(tokens)
        ]
        for layer in range(n_layers)
    }
    for node in built[0]:
        common = dict(pass_id=pass_id, node=node["node"], slot="src0", basis="measured")
        if node["op"] == "GET_ROWS":
            for unit in sorted({(7 * pass_id + 3 * r) % N_VOCAB for r in range(tokens)}):
                made["touches"].append(common | dict(unit="row", first_unit=unit, n_units=1))
        elif node["op"] == "MUL_MAT_ID":
            chosen = {e for route in routes[node["layer"]] for e in route} if moe else set(range(N_EXPERTS))
            for unit in sorted(chosen):
                made["touches"].append(common | dict(unit="expert", first_unit=unit, n_units=1))
    if moe:
        made["routing"] += [
            dict(pass_id=pass_id, layer=layer, row=r, sequence=0, rank=k, expert=e, weight=(0.7, 0.3)[k])
            for layer, rows in routes.items()
            for r, route in enumerate(rows)
            for k, e in enumerate(route)
        ]


def only(tables: Mapping[str, pd.DataFrame], kinds: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    """The same run with only the passes of these kinds left."""
    keep = tables["passes"].loc[tables["passes"]["kind"].isin(kinds), "pass_id"]
    return {
        name: table[table["pass_id"].isin(keep)].reset_index(drop=True) if "pass_id" in table else table
        for name, table in tables.items()
    }


def without(tables: Mapping[str, pd.DataFrame], *names: str) -> dict[str, pd.DataFrame]:
    """The same run with these tables empty."""
    bare = empty()
    return {name: bare[name] if name in names else table for name, table in tables.items()}


def a_run(*, checks: tuple[Check, ...] = (), **facts: Any) -> Run:
    """A run with most facts filled in; name a group to replace it."""
    known: dict[str, Any] = dict(
        settings=dict(model="demo", prompt="Once upon a time", tokens=6, seed=42, threads=2, mmap=True, repack=True, warmup=True, prefault=True),
        command=["llama-completion", "-m", "model.gguf", "-p", "Once upon a time", "-n", "6", "-no-cnv"],
        text=dict(prompt="Once upon a time", generated=" there was a very small model.", token_ids=[11, 42, 7, 5, 3, 9], private=False),
        llama_cpp=dict(version="0.3.36", build=dict(GGML_TENSOR_TRACE="ON"), timings=dict(prompt_ms=1.4, prompt_tokens=6, eval_ms=2.5, eval_runs=5, load_ms=1.9), graphs_reused=4),
        model=dict(file="model.gguf", sha256="ab" * 32, architecture="llama", name="demo", size_bytes=5_000_000, n_tensors=39, n_layers=4, n_experts=None, random_weights=True, metadata={"general.architecture": "llama", "llama.block_count": 4}),
        host=dict(cpu="Example CPU", cores=2, memory_bytes=8 << 30, kernel="6.1.0", os="Debian GNU/Linux 12"),
        trace=dict(run_id="00c0ffee", bytes=123_456, events=4_321, dropped=0, event_cost_ns=47.0, clock_read_ns=19.0, overhead_share=0.004, environment=dict(OMP_NUM_THREADS="2"), begin_wall="2026-11-20T12:00:00Z"),
        versions=dict(tracegen="0.1.0", python="3.11.2"),
        source=dict(commit="3b705b5", dirty=False),
        stages=[dict(name="capture", seconds=2.1), dict(name="read", seconds=0.4)],
    )  # fmt: skip
    default = (
        Check("dropped_events", "No event was dropped", "passed", "0", "0"),
        Check("nodes_accounted", "Every node is accounted for", "passed", "100 %", "100 %"),
        Check("tracing_cost", "Tracing costs little", "warning", "2.1 %", "≤ 1 %, fails at 10 %", "A busy machine."),
        Check("interference", "Nothing interfered", "not checked", "", ""),
    )
    return Run("demo", 3, "2026-11-20T12:00:00Z", checks or default, known | facts)


def a_moe_run(**more: Any) -> Run:
    """`a_run` whose model says that it has experts, as that of `scaled_case(moe=True)` does."""
    model = {**a_run().facts["model"], "n_experts": N_EXPERTS, "n_experts_used": N_USED}
    return a_run(**({"model": model} | more))
