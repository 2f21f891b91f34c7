"""The graph of a small llama-shaped model, dense or with experts, with the habits of a real one.

A shared position leaf and mask that every layer reads, RMS_NORM fused into MUL, views that compute
nothing, a KV cache written by SET_ROWS.
"""

from dataclasses import dataclass, field
from typing import Any

ELEMENT = {"F32": (4, 1), "F16": (2, 1), "I32": (4, 1), "I64": (8, 1), "Q4_0": (18, 32)}
N_EMBD, N_FF, N_VOCAB, N_EXPERTS, N_USED, N_CTX = 256, 512, 1000, 8, 2, 256


@dataclass
class Graph:
    """Nodes and edges of one graph under construction; leaves are numbered after the nodes."""

    graph: int
    tokens: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    leaves: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: list[tuple[str | int, int, int]] = field(default_factory=list)

    def leaf(self, name: str, component: str, dtype: str, shape: tuple[int, ...], layer: int | None = None) -> str:
        if name not in self.leaves:
            self.leaves[name] = shaped(name, "leaf", "NONE", component, dtype, shape, layer)
        return name

    def op(
        self,
        op: str,
        name: str,
        component: str,
        shape: tuple[int, ...],
        sources: list[str | int],
        layer: int | None = None,
        dtype: str = "F32",
        kind: str = "op",
        view_of: int | None = None,
    ) -> int:
        number = len(self.nodes)
        self.nodes.append(shaped(name, kind, op, component, dtype, shape, layer) | {"view_of": view_of})
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


def shaped(
    name: str, kind: str, op: str, component: str, dtype: str, shape: tuple[int, ...], layer: int | None
) -> dict[str, Any]:
    size, block = ELEMENT[dtype]
    ne = [*shape, 1, 1, 1][:4]
    nb = [size, size * ne[0] // block]
    nb += [nb[1] * ne[1], nb[1] * ne[1] * ne[2]]
    row: dict[str, Any] = dict(kind=kind, op=op, name=name, layer=layer, component=component, dtype=dtype)
    row |= {f"ne{i}": ne[i] for i in range(4)} | {f"nb{i}": nb[i] for i in range(4)}
    return row | dict(size_bytes=nb[3] * ne[3], op_params="", compute=True, view_of=None, view_offset_bytes=0)


def build_graph(graph: int, tokens: int, layers: int, moe: bool, prefix: str) -> Graph:
    g = Graph(graph, tokens)
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


def _layer(g: Graph, layer: int, state: int, position: str, mask: int, moe: bool) -> int:
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


def _dense(g: Graph, norm: int, weight: Any, op: Any) -> int:
    wide = (N_FF, g.tokens)
    gate = op("MUL_MAT", "ffn_gate", "ffn_gate", wide, weight("ffn_gate", "ffn_gate", N_EMBD, N_FF), norm)
    up = op("MUL_MAT", "ffn_up", "ffn_up", wide, weight("ffn_up", "ffn_up", N_EMBD, N_FF), norm)
    both = op("GLU", "ffn_swiglu", "ffn_gate", wide, gate, up)
    return int(
        op("MUL_MAT", "ffn_out", "ffn_down", (N_EMBD, g.tokens), weight("ffn_down", "ffn_down", N_FF, N_EMBD), both)
    )


def _experts(g: Graph, layer: int, norm: int, weight: Any, op: Any) -> int:
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
