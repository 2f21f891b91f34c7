"""Which experts tokens choose: how often each, token by token, and how many of them a pass uses."""

from collections.abc import Mapping

import pandas as pd

from tracegen.analysis import expert_use, routing
from tracegen.analysis.experts import Choice
from tracegen.charts import experts
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import Cell, applicable, of_pass
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows


def _experts(context: Context) -> Content:
    choice, empty = context.choice, shared_experts.no_choice(context)
    return Content(
        answer=() if empty else (never_chosen(choice.counts), _most_chosen(choice)),
        caption="Each cell: how many generated tokens chose the expert in that layer; one row of cells per layer."
        f"{'' if empty else _baseline(choice)} {shared_experts.generated(context)}",
        alt=f"Grid of {q.counted(len(shared_experts.layers(context)), 'layer')} by experts: how many tokens chose "
        "each.",
        chart=lambda width: experts.chart(choice.counts, width=width),
        data=choice.counts.assign(n_tokens_if_even=choice.even),
        empty=empty,
    )


def never_chosen(counts: pd.DataFrame) -> Amount:
    """How many experts no generated token chose; an expert of each layer counts by itself."""
    n_never, n_layers = int((counts["n_tokens"] == 0).sum()), counts["layer"].nunique()
    return Amount(n_never, "", f"of {q.counted(len(counts), 'expert')} in {q.counted(n_layers, 'layer')} never chosen")


def _most_chosen(choice: Choice) -> Amount:
    """The share of tokens that choose the most chosen expert, which is named if no other is chosen as often."""
    most = choice.counts[choice.counts["n_tokens"] == choice.counts["n_tokens"].max()]
    best = most.iloc[0]
    name = f" (number {best['expert']} in layer {best['layer']})" if len(most) == 1 else ""
    return Amount(best["n_tokens"] / choice.n_rows, "share", f"of tokens choose the most chosen expert{name}")


def _baseline(choice: Choice) -> str:
    if choice.n_experts is None:
        return " Layers differ in their number of experts, so that they have no common baseline."
    if choice.n_chosen is None or choice.even is None:
        return " Tokens differ in how many experts they choose, so that they have no common baseline."
    return (
        f" A token chooses {choice.n_chosen} of {q.counted(choice.n_experts, 'expert')} in a layer, so that an even "
        f"choice would give every cell {q.three(choice.even)}."
    )


EXPERTS = shared_experts.figure(
    key="experts",
    page="experts",
    section="tokens",
    title="Which experts do the generated tokens choose?",
    content=_experts,
    code="""
choice = experts.choice(run.tables)
data = choice.counts.assign(n_tokens_if_even=choice.even)
""",
)


LINES = 48  # at most; with more tokens, neighbouring tokens share a line


def _labels(context: Context, rows: pd.DataFrame) -> list[str]:
    """The name of each line: the output tokens of its first and last pass, or the passes if a token is not known.

    All are different: tokens of one pass are numbered.
    """
    given = shared_experts.given(context)
    lines = rows.drop_duplicates("line").sort_values("line", kind="stable")
    ends = [(int(first), int(last)) for first, last in lines[["first_pass", "last_pass"]].itertuples(index=False)]
    names = pd.Series([_line_name(given, *of_line) for of_line in ends], dtype="object")
    number = names.groupby(names).cumcount()
    return [f"{name}, row {k}" if k else str(name) for name, k in zip(names, number, strict=True)]


def _line_name(given: Mapping[int, int], first: int, last: int) -> str:
    known = first in given and last in given
    a, b = (given[first], given[last]) if known else (first, last)
    noun, plural = ("token", "tokens") if known else ("pass", "passes")
    return f"{noun} {a}" if a == b else f"{plural} {a}–{b}"


def _experts_tokens(context: Context) -> Content:
    """Tokens by experts in the layer whose choice is most uneven."""
    per_layer = context.expert_layers
    layer = routing.most_uneven(per_layer)
    sizes = per_layer.set_index("layer")["n_experts"]
    chosen = context.chosen[context.chosen["layer"] == layer]
    rows, several = routing.grid(chosen, -1 if layer is None else layer, LINES)
    lines = "One line per token."
    if several > 1:
        lines = (
            f"Each line joins {several} tokens (the last may have fewer); the stronger a mark, the more of them chose "
            "the expert."
        )
    uneven = (
        "In no layer is the choice more uneven: the standard deviation of its experts’ counts, divided by their mean, "
        "is the largest."
    )
    caption = (
        "Each mark: an expert that a generated token chose in the layer.",
        lines,
        uneven if len(per_layer) > 1 else "",
        shared_experts.NAMED_BY,
        shared_experts.last_token(context),
        shared_experts.generated(context),
    )
    return Content(
        title="" if layer is None else f"Which experts does each generated token choose in layer {layer}?",
        caption=" ".join(filter(None, caption)),
        alt=f"Tokens by experts of layer {layer}.",
        chart=lambda width: experts.of_tokens(
            rows, _labels(context, rows), int(sizes[layer or 0]), several, width=width
        ),
        data=chosen,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    )


EXPERTS_TOKENS = shared_experts.figure(
    key="experts-tokens",
    title="Which experts does each generated token choose?",
    content=_experts_tokens,
    code=shared_experts.CHOSEN + 'data = chosen[chosen["layer"] == $layer]',
)


SHOWN_OF_TOKENS = 20  # rows at most; the CSV has all


def _experts_of_tokens(context: Context) -> Rows:
    """The experts of the first tokens, in order of weight where weights are known."""
    layer, chosen = routing.most_uneven(context.expert_layers), context.chosen
    rows = routing.by_strength(chosen[chosen["layer"] == layer])
    tokens = [part for _, part in rows.groupby(["pass_id", "row"])]
    given = shared_experts.given(context)
    cut = f"The first {SHOWN_OF_TOKENS} of {q.count(len(tokens))} tokens." if len(tokens) > SHOWN_OF_TOKENS else ""
    caption = (
        "The experts of each input token, the strongest first; where a weight is missing, in llama.cpp’s order.",
        shared_experts.last_token(context),
        cut,
    )
    return Rows(
        title="" if layer is None else f"Which experts, with which weights, did each token choose in layer {layer}?",
        caption=" ".join(filter(None, caption)),
        data=rows,
        empty=shared_experts.no_choice(context),
        numbers={"layer": layer},
    ).of(
        [part.to_dict("list") for part in tokens[:SHOWN_OF_TOKENS]],
        col.number("Output token", lambda r: _number(given.get(r["pass_id"][0]))),
        col.number("Input token", lambda r: _number(r["generated_token"][0])),
        col.number("Pass", lambda r: of_pass(r["pass_id"][0])),
        col.text("Experts", lambda r: ", ".join(map(str, r["expert"]))),
        col.text("Weights", lambda r: ", ".join("—" if pd.isna(w) else q.decimal(w, 3) for w in r["weight"])),
    )


def _number(token: object) -> str:
    return str(token) if q.known(token) else q.UNKNOWN


EXPERTS_OF_TOKENS = shared_experts.table(
    key="experts-of-tokens",
    title="Which experts, with which weights, did each token choose?",
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
        lines.append(f"# {name}: {n} {'token' if n == 1 else 'tokens'}")
        lines += map(_line, of.to_dict("records"))
    return "\n".join(lines) + "\n"


def _shares_used(table: pd.DataFrame) -> tuple[Amount, ...]:
    """The mean share of a layer's experts that is used, by phase; `table`: a row for each layer of a pass."""
    shares = (table["n_used"] / table["n_experts"]).groupby(table["phase"]).mean()
    who = {"prompt": "a pass of the prompt", "generate": "all generated tokens together"}
    return tuple(
        Amount(float(shares[phase]), "share", f"of a layer’s experts used by {words} (mean)")
        for phase, words in who.items()
        if phase in shares
    )


def _experts_used(context: Context) -> Rows:
    """A row for each layer of each pass of the prompt, and of all generated tokens."""
    table = expert_use.used(context.tables)
    every = table.drop_duplicates(["phase", "pass_id", "layer"])
    once = every.assign(last=every["phase"].eq("prompt")).sort_values(["last", "pass_id", "layer"]).head(SHOWN_USED)
    cut = f" The first {len(once)} of {q.count(len(every))} layers of passes." if len(once) < len(every) else ""
    return Rows(
        answer=_shares_used(every),
        caption="Experts that at least one token of the pass chose; one line per layer, for all its expert tensors "
        "share one routing. Random: how many would be used on average if each of n tokens chose at random, "
        "E (1 − (1 − k/E)ⁿ). "
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
        col.count("Tokens", "n_rows"),
    )


EXPERTS_USED = shared_experts.table(
    key="experts-used",
    title="How many experts of each tensor does a pass use?",
    content=_experts_used,
    code="data = expert_use.used(run.tables)",
)
