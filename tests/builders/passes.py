"""What the passes did: times from a small integer recurrence, so that every build of the data is the same."""

from typing import Any

from tests.builders.graph import N_EXPERTS, N_USED, N_VOCAB


def passes_of(
    built: list[tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    n_generate: int,
    n_prompt: int,
    threads: int,
    moe: bool,
    n_layers: int,
    warmup: bool,
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {k: [] for k in ("passes", "tokens", "ops", "spans", "touches", "routing")}
    none = dict(minor_faults=0, major_faults=0, voluntary_switches=3, involuntary_switches=0, read_bytes=0)
    rows["passes"].append(dict(pass_id=0, kind="load", kind_basis="recorded", begin_ns=1_000, end_ns=1_900_000) | none)
    kinds = [*(["warmup"] if warmup else []), "prompt", *["generate"] * n_generate]
    clock, position = 3_000_000, 0
    for number, kind in enumerate(kinds, start=1):
        graph = 1 if kind == "generate" else 0
        tokens = 1 if kind == "generate" else n_prompt
        produced = None if kind == "warmup" else number - kinds.index("prompt") - 1
        begin = clock
        clock = _ops(rows, built[graph][0], number, begin, threads, tokens, kind)
        _touches(rows, built[graph], number, tokens, moe and kind != "warmup", n_layers)
        rows["passes"].append(
            dict(
                pass_id=number,
                context=0,
                call=number - 1,
                ubatch=0,
                kind=kind,
                kind_basis="recorded",
                n_tokens=tokens,
                n_sequences=1,
                n_outputs=1,
                position_begin=position,
                produced_token=produced,
                graph=graph,
                placement=graph,
                begin_ns=begin,
                end_ns=clock,
            )
            | none
        )
        rows["tokens"] += [
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
    return rows


def _ops(
    rows: dict[str, list[dict[str, Any]]],
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
            rows["ops"].append(row | dict(state="noop", time_basis="graph only"))
            continue
        if node["op"] == "RMS_NORM":
            rows["ops"].append(row | dict(state="fused", fused_into=node["node"] + 1, time_basis="graph only"))
            continue
        heavy = node["op"].startswith("MUL_MAT") or node["op"] == "FLASH_ATTN_EXT"
        length = (node["size_bytes"] * (9 if heavy else 1) // 4 + 700) + (node["node"] * 37 + pass_id * 53) % 211
        last = at
        for thread in range(threads):
            late, inside = 15 * thread, (60 if heavy else 0) * thread
            work = length - 40 * thread - inside
            rows["spans"].append(
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
        rows["ops"].append(
            row | dict(state="executed", n_threads=threads, begin_ns=at, end_ns=last, time_basis="measured")
        )
        at = last + 120
    return at


def _touches(
    rows: dict[str, list[dict[str, Any]]],
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
                rows["touches"].append(common | dict(unit="row", first_unit=unit, n_units=1))
        elif node["op"] == "MUL_MAT_ID":
            chosen = {e for route in routes[node["layer"]] for e in route} if moe else set(range(N_EXPERTS))
            for unit in sorted(chosen):
                rows["touches"].append(common | dict(unit="expert", first_unit=unit, n_units=1))
    if moe:
        rows["routing"] += [
            dict(pass_id=pass_id, layer=layer, row=r, sequence=0, rank=k, expert=e, weight=(0.7, 0.3)[k])
            for layer, chosen in routes.items()
            for r, route in enumerate(chosen)
            for k, e in enumerate(route)
        ]
