"""The golden hard case, written by hand: what a MUL_MAT_ID must look like in the tables.

A prompt of five tokens runs in two ubatches (three rows, then two) on two threads.
The model is split in two files; its one expert tensor lies in the second and was
repacked, so its bytes are `copied`. Every number below is worked out on paper:

    n_embd 64, vocabulary 10, n_ff 32, 4 experts of which 2 are used

    file 0  (2,816 B)   512  token_embd.weight          F16   64 x 10     row 128 B   1,280 B
                      1,792  blk.0.ffn_gate_inp.weight  F32   64 x 4      row 256 B   1,024 B
    file 1  (4,864 B)   256  blk.0.ffn_gate_exps.weight Q4_0  64 x 32 x 4 row  36 B
                                                              one expert 1,152 B      4,608 B

    node  op           name               operands
    0     GET_ROWS     inp_embd           token_embd.weight (leaf 5), inp_tokens (leaf 6)
    1     MUL_MAT      ffn_moe_logits-0   ffn_gate_inp.weight (leaf 7), node 0
    2     ARGSORT      ffn_moe_argsort-0  node 1
    3     VIEW (noop)  ffn_moe_topk-0     node 2
    4     MUL_MAT_ID   ffn_moe_gate-0     ffn_gate_exps.weight (leaf 8), node 0, ids = node 3

    pass 1: tokens 7 8 9 choose experts (1,3) (3,0) (1,3): used 0, 1, 3 = 3,456 B
    pass 2: tokens 7 4   choose experts (2,1) (2,1):       used 1, 2    = 2,304 B
"""

from functools import cache

import pandas as pd

from tracegen.contract.tables import empty, frame

EXPERT_BYTES = 1152
ROUTES = {1: [(1, 3), (3, 0), (1, 3)], 2: [(2, 1), (2, 1)]}
TOKENS = {1: [7, 8, 9], 2: [7, 4]}
PASS_BEGIN = {1: 10_000, 2: 20_000}
BUFFER_SIZES = {1: 4608, 2: 65536}


def hard_case() -> dict[str, pd.DataFrame]:
    """All tables of the case."""
    return {name: table.copy(deep=False) for name, table in _made().items()}  # pandas copies what is written to


@cache
def _made() -> dict[str, pd.DataFrame]:
    tables = empty()
    tables["files"] = frame(
        "files",
        [
            dict(file=0, model=0, split_index=0, path="m-00001-of-00002.gguf", size_bytes=2816, axis_begin=0),
            dict(file=1, model=0, split_index=1, path="m-00002-of-00002.gguf", size_bytes=4864, axis_begin=2816),
        ],
    )
    tables["contexts"] = frame(
        "contexts",
        [dict(context=0, model=0, n_ctx=512, n_batch=8, n_ubatch=3, type_k="f16", type_v="f16", n_threads=2)],
    )
    tables["passes"] = frame("passes", [_load(), *(_prompt(p) for p in (1, 2))])
    tables["tokens"] = frame(
        "tokens",
        [
            dict(
                pass_id=p,
                row=row,
                token_id=token,
                position=row + (0 if p == 1 else 3),
                sequence=0,
                output=(p == 2 and row == 1),
                generated_token=None,  # the prompt's; token 0, which pass 2 gives, is in no row
            )
            for p, ids in TOKENS.items()
            for row, token in enumerate(ids)
        ],
    )
    tables["graphs"] = frame("graphs", [dict(graph=g, topology="5c0ffee5", n_nodes=5, n_leafs=4) for g in (0, 1)])
    tables["graph_nodes"] = frame("graph_nodes", [n for g, rows in ((0, 3), (1, 2)) for n in _nodes(g, rows)])
    tables["graph_edges"] = frame("graph_edges", [e for g in (0, 1) for e in _edges(g)])
    tables["ops"] = frame("ops", [o for p in (1, 2) for o in _ops(p)])
    tables["spans"] = frame("spans", [s for p in (1, 2) for s in _spans(p)])
    tables["placements"] = frame("placements", [r for g in (0, 1) for r in _placements(g)])
    tables["touches"] = frame(
        "touches",
        [
            dict(pass_id=1, node=0, slot="src0", unit="row", first_unit=7, n_units=3, basis="measured"),
            dict(pass_id=1, node=4, slot="src0", unit="expert", first_unit=0, n_units=2, basis="measured"),
            dict(pass_id=1, node=4, slot="src0", unit="expert", first_unit=3, n_units=1, basis="measured"),
            dict(pass_id=2, node=0, slot="src0", unit="row", first_unit=4, n_units=1, basis="measured"),
            dict(pass_id=2, node=0, slot="src0", unit="row", first_unit=7, n_units=1, basis="measured"),
            dict(pass_id=2, node=4, slot="src0", unit="expert", first_unit=1, n_units=2, basis="measured"),
        ],
    )
    tables["routing"] = frame(
        "routing",
        [
            dict(pass_id=p, layer=0, row=row, sequence=0, rank=rank, expert=expert, weight=(0.75, 0.25)[rank])
            for p, rows in ROUTES.items()
            for row, chosen in enumerate(rows)
            for rank, expert in enumerate(chosen)
        ],
    )
    shape = {"ne2": 1, "ne3": 1}
    tables["tensors"] = frame(
        "tensors",
        [
            dict(
                tensor=0,
                name="token_embd.weight",
                file=0,
                offset=512,
                size_bytes=1280,
                dtype="F16",
                ne0=64,
                ne1=10,
                **shape,
                component="embedding",
            ),
            dict(
                tensor=1,
                name="blk.0.ffn_gate_inp.weight",
                file=0,
                offset=1792,
                size_bytes=1024,
                dtype="F32",
                ne0=64,
                ne1=4,
                **shape,
                layer=0,
                component="router",
            ),
            dict(
                tensor=2,
                name="blk.0.ffn_gate_exps.weight",
                file=1,
                offset=256,
                size_bytes=4608,
                dtype="Q4_0",
                ne0=64,
                ne1=32,
                ne2=4,
                ne3=1,
                layer=0,
                component="expert_gate",
                n_experts=4,
            ),
        ],
    )
    tables["buffers"] = frame(
        "buffers",
        [
            dict(
                time_ns=1_500,
                event="alloc",
                buffer_id=1,
                address=0x9000,
                name="CPU_REPACK",
                backend="CPU",
                usage="weights",
                size_bytes=4608,
            ),
            dict(
                time_ns=3_000,
                event="alloc",
                buffer_id=2,
                address=0x20000,
                name="CPU",
                backend="CPU",
                usage="compute",
                size_bytes=65536,
            ),
            dict(
                time_ns=90_000,
                event="free",
                buffer_id=2,
                address=0x20000,
                name="CPU",
                backend="CPU",
                usage="compute",
                size_bytes=65536,
            ),
            dict(
                time_ns=91_000,
                event="free",
                buffer_id=1,
                address=0x9000,
                name="CPU_REPACK",
                backend="CPU",
                usage="weights",
                size_bytes=4608,
            ),
        ],
    )
    return tables


def _load() -> dict[str, object]:
    return dict(
        pass_id=0,
        kind="load",
        kind_basis="recorded",
        begin_ns=1_000,
        end_ns=2_000,
        minor_faults=40,
        major_faults=0,
        voluntary_switches=1,
        involuntary_switches=0,
        read_bytes=7680,
    )


def _prompt(p: int) -> dict[str, object]:
    return dict(
        pass_id=p,
        context=0,
        call=0,
        ubatch=p - 1,
        kind="prompt",
        kind_basis="recorded",
        n_tokens=len(TOKENS[p]),
        n_sequences=1,
        n_outputs=p - 1,
        position_begin=(0, 3)[p - 1],
        produced_token=(None, 0)[p - 1],
        graph=p - 1,
        placement=p - 1,
        begin_ns=PASS_BEGIN[p],
        end_ns=PASS_BEGIN[p] + 5_000,
        minor_faults=2,
        major_faults=0,
        voluntary_switches=0,
        involuntary_switches=0,
        read_bytes=0,
        run_delay_ns=100,
        cpu_ns=9_500,
        blocked_ns=0,
        counted_ns=5_000,
    )


def _nodes(graph: int, rows: int) -> list[dict[str, object]]:
    def node(
        number: int,
        kind: str,
        op: str,
        name: str,
        component: str,
        dtype: str,
        shape: tuple[int, ...],
        element: int,
        layer: int | None = 0,
        **more: object,
    ) -> dict[str, object]:
        ne = [*shape, 1, 1, 1][:4]
        nb = [element, element * ne[0], element * ne[0] * ne[1], element * ne[0] * ne[1] * ne[2]]
        row: dict[str, object] = dict(
            graph=graph,
            node=number,
            kind=kind,
            op=op,
            name=name,
            layer=layer,
            component=component,
            dtype=dtype,
            op_params="",
            compute=True,
            view_offset_bytes=0,
            size_bytes=nb[3] * ne[3],
        )
        row |= {f"ne{i}": ne[i] for i in range(4)} | {f"nb{i}": nb[i] for i in range(4)}
        return row | more

    quantised = dict(nb0=18, nb1=36, nb2=1152, nb3=4608, size_bytes=4608)
    view = dict(nb1=16, nb2=16 * rows, nb3=16 * rows, size_bytes=16 * (rows - 1) + 8, view_of=2)
    return [
        node(0, "op", "GET_ROWS", "inp_embd", "embedding", "F32", (64, rows), 4, None),
        node(1, "op", "MUL_MAT", "ffn_moe_logits-0", "router", "F32", (4, rows), 4),
        node(2, "op", "ARGSORT", "ffn_moe_argsort-0", "router", "I32", (4, rows), 4),
        node(3, "noop", "VIEW", "ffn_moe_topk-0", "router", "I32", (2, rows), 4, **view),
        node(4, "op", "MUL_MAT_ID", "ffn_moe_gate-0", "expert_gate", "F32", (32, 2, rows), 4),
        node(5, "leaf", "NONE", "token_embd.weight", "embedding", "F16", (64, 10), 2, None),
        node(6, "leaf", "NONE", "inp_tokens", "other", "I32", (rows,), 4, None),
        node(7, "leaf", "NONE", "blk.0.ffn_gate_inp.weight", "router", "F32", (64, 4), 4),
        node(8, "leaf", "NONE", "blk.0.ffn_gate_exps.weight", "expert_gate", "Q4_0", (64, 32, 4), 1, **quantised),
    ]


def _edges(graph: int) -> list[dict[str, object]]:
    pairs = [(5, 0, 0), (6, 0, 1), (7, 1, 0), (0, 1, 1), (1, 2, 0), (2, 3, 0), (8, 4, 0), (0, 4, 1), (3, 4, 2)]
    return [dict(graph=graph, source=s, target=t, slot=f"src{i}") for s, t, i in pairs]


def _ops(p: int) -> list[dict[str, object]]:
    begin = PASS_BEGIN[p]
    rows: list[dict[str, object]] = []
    for node, at, length in ((0, 100, 200), (1, 400, 300), (2, 800, 100), (4, 1_000, 3_000)):
        rows.append(
            dict(
                pass_id=p,
                node=node,
                state="executed",
                backend="CPU",
                split=0,
                n_threads=2,
                begin_ns=begin + at,
                end_ns=begin + at + length,
                time_basis="measured",
            )
        )
    rows.append(dict(pass_id=p, node=3, state="noop", backend="CPU", split=0, time_basis="graph only"))
    return sorted(rows, key=lambda op: op["node"])  # type: ignore[arg-type,return-value]


def _spans(p: int) -> list[dict[str, object]]:
    """Thread 0 works longest in MUL_MAT_ID; thread 1 begins 10 ns later and waits inside it."""
    begin = PASS_BEGIN[p]
    spans = [
        (0, 0, 100, 200, 0, 100),
        (0, 1, 110, 150, 0, 140),
        (1, 0, 400, 250, 50, 100),
        (1, 1, 410, 240, 50, 100),
        (2, 0, 800, 100, 0, 100),
        (2, 1, 810, 10, 0, 180),
        (4, 0, 1_000, 2_900, 100, 0),
        (4, 1, 1_010, 1_890, 1_000, 100),
    ]
    return [
        dict(pass_id=p, node=n, thread=t, begin_ns=begin + b, work_ns=w, barrier_ns=i, wait_ns=after)
        for n, t, b, w, i, after in spans
    ]


def _placements(graph: int) -> list[dict[str, object]]:
    def lies(node: int, size: int, **where: object) -> dict[str, object]:
        return dict(placement=graph, graph=graph, node=node, size_bytes=size, **where)

    rows = (3, 2)[graph]
    sizes = {0: 256 * rows, 1: 16 * rows, 2: 16 * rows, 3: 16 * (rows - 1) + 8, 4: 256 * rows, 6: 4 * rows}
    offsets = {0: 0, 1: 1024, 2: 1280, 3: 1280, 4: 2048, 6: 4096}
    placed = [
        lies(n, size, memory="buffer", buffer_id=2, buffer_offset=offsets[n], address=0x20000 + offsets[n])
        for n, size in sizes.items()
    ]
    placed += [
        lies(5, 1280, memory="disk", tensor=0, file=0, origin_offset=512, address=0x7000_0200),
        lies(7, 1024, memory="disk", tensor=1, file=0, origin_offset=1792, address=0x7000_0700),
        lies(
            8, 4608, memory="copied", tensor=2, file=1, origin_offset=256, buffer_id=1, buffer_offset=0, address=0x9000
        ),
    ]
    return sorted(placed, key=lambda row: row["node"])  # type: ignore[arg-type,return-value]
