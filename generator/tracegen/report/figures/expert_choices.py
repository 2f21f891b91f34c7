"""Which experts tokens choose: how often each, token by token, and how many of them a pass uses."""

import pandas as pd

from tracegen.analysis import expert_use, routing
from tracegen.charts import experts
from tracegen.contract import quantities as q
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.cells import Cell, applicable, of_pass
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.words import expert_sentences as say


def _experts(context: Context) -> Content:
    choice, empty = context.choice, shared_experts.no_choice(context)
    title = ""
    if not empty:
        most = choice.counts[choice.counts["n_tokens"] == choice.counts["n_tokens"].max()]
        title = say.choice_title(
            n_never=int((choice.counts["n_tokens"] == 0).sum()),
            n_pairs=len(choice.counts),
            layers=shared_experts.layers(context),
            best=(int(most["layer"].iloc[0]), int(most["expert"].iloc[0])),
            most=int(most["n_tokens"].iloc[0]),
            n_best=len(most),
            n_rows=choice.n_rows,
        )
    return Content(
        title=title,
        caption=say.choice_caption(
            n_rows=choice.n_rows, n_experts=choice.n_experts, n_chosen=choice.n_chosen, even=choice.even
        ),
        alt=f"Grid of {q.counted(len(shared_experts.layers(context)), 'layer')} by experts: how many tokens chose "
        f"each. {q.ended(title)}",
        chart=lambda width: experts.chart(choice.counts, width=width),
        data=choice.counts.assign(n_tokens_if_even=choice.even),
        empty=empty,
    )


EXPERTS = shared_experts.figure(
    key="experts",
    page="experts",
    section="tokens",
    title="Which experts do the tokens choose?",
    content=_experts,
    code="""
choice = experts.choice(run.tables)
data = choice.counts.assign(n_tokens_if_even=choice.even)
""",
)


LINES = 48  # at most; with more tokens, neighbouring tokens share a line


def _labels(context: Context, rows: pd.DataFrame) -> list[str]:
    """The name of each line; all are different: rows of one pass are numbered."""
    given = shared_experts.given(context)
    lines = rows.drop_duplicates("line").sort_values("line")
    ends = [(int(first), int(last)) for first, last in lines[["first_pass", "last_pass"]].itertuples(index=False)]
    names = pd.Series([say.line_name((given.get(a), given.get(b)), (a, b)) for a, b in ends], dtype="object")
    number = names.groupby(names).cumcount()
    return [f"{name}, row {k}" if k else str(name) for name, k in zip(names, number, strict=True)]


def _experts_tokens(context: Context) -> Content:
    """Tokens by experts in the layer whose choice is most uneven."""
    per_layer = context.expert_layers
    layer = routing.most_uneven(per_layer)
    sizes = per_layer.set_index("layer")["n_experts"]
    chosen = context.chosen[context.chosen["layer"] == layer]
    rows, several = routing.grid(chosen, -1 if layer is None else layer, LINES)
    n_tokens = len(chosen[["pass_id", "row"]].drop_duplicates())
    tied = int((per_layer["unevenness"] >= float(per_layer["unevenness"].max()) - 1e-9).sum())
    most_uneven = len(per_layer) > 1 and tied == 1
    title = say.tokens_title(layer=layer, n_tokens=n_tokens, most_uneven=most_uneven)
    return Content(
        title=title,
        caption=say.tokens_caption(
            n_tokens=n_tokens,
            several=several,
            n_layers=len(per_layer),
            most_uneven=most_uneven,
            last=shared_experts.last_token(context),
        ),
        alt=f"Tokens by experts of one layer. {title}",
        chart=lambda width: experts.of_tokens(
            rows, _labels(context, rows), int(sizes[layer or 0]), several, width=width
        ),
        data=chosen,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    )


EXPERTS_TOKENS = shared_experts.figure(
    key="experts-tokens",
    title="Which experts does each token choose?",
    content=_experts_tokens,
    code=shared_experts.CHOSEN + 'data = chosen[chosen["layer"] == $layer]',
)


SHOWN_OF_TOKENS = 20  # rows at most; the CSV has all


def _experts_of_tokens(context: Context) -> Rows:
    """The experts of the first tokens, in order of weight where weights are known."""
    layer, chosen = routing.most_uneven(context.expert_layers), context.chosen
    rows = routing.by_strength(chosen[chosen["layer"] == layer])
    tokens = [part for _, part in rows.groupby(["pass_id", "row"])]
    given, where = shared_experts.given(context), "" if layer is None else f" in layer {layer}"
    return Rows(
        title=f"Which experts did each token choose{where}, with which weights?",
        caption=say.of_tokens_caption(
            n_ordered=sum(bool(part["place"].notna().all()) for part in tokens),
            n_tokens=len(tokens),
            n_shown=min(len(tokens), SHOWN_OF_TOKENS),
            last=shared_experts.last_token(context),
        ),
        data=rows,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    ).of(
        [part.to_dict("list") for part in tokens[:SHOWN_OF_TOKENS]],
        col.number("Token", lambda r: _number(given.get(r["pass_id"][0]))),
        col.number("Takes in", lambda r: _number(r["generated_token"][0])),
        col.number("Pass", lambda r: of_pass(r["pass_id"][0])),
        col.text("Experts", lambda r: ", ".join(map(str, r["expert"]))),
        col.text("Weights", lambda r: ", ".join("—" if pd.isna(w) else q.decimal(w, 3) for w in r["weight"])),
    )


def _number(token: object) -> str:
    return str(token) if q.known(token) else q.UNKNOWN


EXPERTS_OF_TOKENS = shared_experts.table(
    key="experts-of-tokens",
    title="Which experts did each token choose, with which weights?",
    content=_experts_of_tokens,
    code=shared_experts.CHOSEN + 'data = routing.by_strength(chosen[chosen["layer"] == $layer])',
)


SHOWN_USED = 64
FILE = "data/experts-used.txt"


def _line(r: col.Row) -> str:
    """`blk.0.ffn_gate_exps.weight: 95/128 experts used`, the words that users of llama.cpp paste."""
    name = q.printable(r["tensor"]) if q.known(r["tensor"]) else f"layer {r['layer']}"
    return f"{name}: {r['n_used']}/{r['n_experts']} experts used"


def _text(table: pd.DataFrame) -> str:
    """A line for each tensor of each pass, under the name of the pass."""
    lines = []
    for (_, name), of in table.groupby(["pass_id", "name"], sort=False, dropna=False):
        n = int(of["n_rows"].max())
        lines.append(f"# {name}: {n} token {'row' if n == 1 else 'rows'}")
        lines += map(_line, of.to_dict("records"))
    return "\n".join(lines) + "\n"


def _title(table: pd.DataFrame) -> str:
    ends = {}
    for phase in ("prompt", "generate"):
        used = table.loc[table["phase"] == phase, "n_used"]
        ends[phase] = (int(used.min()), int(used.max())) if len(used) else None
    sizes = table["n_experts"].unique()
    return say.used_title(**ends, n_experts=int(sizes[0]) if len(sizes) == 1 else None)


def _experts_used(context: Context) -> Rows:
    """A row for each layer of each pass of the prompt, and of all generated tokens."""
    table = expert_use.used(context.tables)
    every = table.drop_duplicates(["phase", "pass_id", "layer"])
    once = every.assign(last=every["phase"].eq("prompt")).sort_values(["last", "pass_id", "layer"]).head(SHOWN_USED)
    cut = f" The first {len(once)} of {q.count(len(every))} layers of passes." if len(once) < len(every) else ""
    return Rows(
        title=_title(table),
        caption="Experts that at least one token row of the pass chose; one line per layer, for all its expert tensors "
        "share one routing. Random: how many would be used on average if each row chose at random, E (1 − (1 − k/E)ⁿ). "
        f"{FILE} has a line for every tensor of every pass.{cut} Warm-up is left out.",
        data=table,
        empty=shared_experts.no_choice(context),
        files={FILE: _text(table)} if len(once) else {},
    ).of(
        once,
        col.text("Pass", lambda r: q.printable(r["name"])),
        col.text("Experts used", lambda r: Cell(_line(r), code=True)),
        col.share("Share", "n_used", "n_experts"),
        col.number("Random", lambda r: applicable(r["if_even"], lambda value: q.decimal(value, 1))),
        col.count("Token rows", "n_rows"),
    )


EXPERTS_USED = shared_experts.table(
    key="experts-used",
    title="How many experts of each tensor does a pass use?",
    content=_experts_used,
    code="data = expert_use.used(run.tables)",
)
