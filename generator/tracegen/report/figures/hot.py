"""What to keep in memory: how concentrated use is, a hot set of experts."""

import pandas as pd

from tracegen.analysis import concentration, hot_set
from tracegen.charts import lines
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.document.cells import between, share
from tracegen.report.figures import columns as col
from tracegen.report.figures import shared_access, shared_experts
from tracegen.report.figures.context import Context
from tracegen.report.figures.figure import Content, Rows
from tracegen.report.figures.shared_experts import WITH_EXPERTS


def _concentration(context: Context) -> Content:
    use = concentration.piece_use(context.tables, context.used, context.disk_accesses, context.pieces)
    curves = {name: concentration.curve(use, name) for name in concentration.MEASURES}
    drawn = [concentration.thinned(of, 100).assign(measure=name) for name, of in curves.items()]
    data = pd.concat(drawn, ignore_index=True)[["measure", "file_share", "use_share"]]
    gini = [f"{lines.MEASURES[name]} {q.decimal(concentration.gini(of), 2)}" for name, of in curves.items() if len(of)]
    touched = curves["touched_bytes"]
    experts = use[use["expert"].notna() & ~use["tensor"].isin(context.unseen["tensor"])]["n_accesses"]
    return Content(
        answer=_most_used(touched),
        caption=f"Tensors, and experts of tensors singly, in order of use per byte. Dashed: all bytes used as much. "
        f"Gini coefficient (0: as much, near 1: few bytes take all): {', '.join(gini)}. An operation’s time is divided "
        f"over what it read, by bytes.{_never_touched(int((experts == 0).sum()), len(experts))} "
        f"n = {q.counted(context.disk_accesses['pass_id'].nunique(), 'measured pass')}."
        f"{shared_access.left_out(context)}",
        alt="Curves of the share of use over the share of bytes.",
        chart=lambda width: lines.use_shares(data, width=width),
        data=data,
        empty=shared_access.nothing(context),
    )


def _most_used(touched: pd.DataFrame) -> tuple[Amount, ...]:
    """Which shares of the bytes of the mapped tensors have half and 80 % of the touched bytes."""
    if touched.empty:
        return ()
    half, most = (concentration.file_share(touched, share) for share in concentration.TARGETS)
    return (
        Amount(half, "share", "of the bytes of the mapped tensors have half of the touched bytes"),
        Amount(most, "share", "have 80 %"),
    )


def _never_touched(n: int, n_experts: int) -> str:
    """How many experts of tensors no pass touched; empty without experts."""
    return f" Of {q.counted(n_experts, 'expert')} of tensors, {q.count(n)} were never touched." if n_experts else ""


CONCENTRATION = shared_access.cache_figure(
    key="concentration",
    title="How much of the mapped file takes most of the use?",
    content=_concentration,
    code=shared_access.ACCESSES
    + """import pandas as pd
use = concentration.piece_use(run.tables, used, touched, pieces.pieces(run.tables))
curves = {name: concentration.curve(use, name) for name in concentration.MEASURES}
drawn = [concentration.thinned(of, 100).assign(measure=name) for name, of in curves.items()]
data = pd.concat(drawn, ignore_index=True)[["measure", "file_share", "use_share"]]""",
)


SIZES_DIFFER = "Layers or tokens differ in their number of experts, so that there is no common size of a set."


def _hot_experts(context: Context) -> Rows:
    """A row for the static set and one for the experts chosen last."""
    hot = context.hot_set
    n = context.choice.n_rows
    too_few = (
        f"{q.counted(n, 'token')}: too few to learn a hot set on some and score it on others, which takes "
        f"{q.count(hot_set.LEAST_TOKENS)}. Generate more (tokens = {hot_set.LEAST_TOKENS + 1})."
    )
    unknown = too_few if n < hot_set.LEAST_TOKENS else SIZES_DIFFER
    empty = shared_experts.no_choice(context) or ("" if hot else unknown)
    columns = (
        col.text("Held in each layer", lambda r: r["what"]),
        col.number("Experts", lambda r: f"{q.count(r['hot'].n_held)} of {q.count(r['hot'].n_experts)}"),
        col.number("Share", lambda r: share(r["hot"].n_held, r["hot"].n_experts)),
        col.number("Choices served", lambda r: share(r["gain"].served, 1)),
        col.number("Gain", lambda r: _signed(r["gain"].gain)),
        col.number("95 % interval", lambda r: between(r["gain"].low, r["gain"].high, _signed)),
    )
    if hot is None:
        return Rows(caption=hot_set_counts(None), empty=empty).of([], *columns)
    profile = hot.kept.sort_values(["n_learned", "layer", "expert"], ascending=[False, True, True])
    text = profile.rename(columns={"n_learned": "count"}).to_csv(index=False, lineterminator="\n")
    return Rows(
        answer=hot_answer(hot.static, hot.recent, hot.n_held, hot.n_experts),
        caption=hot_set_counts(hot),
        data=hot_set.table(hot),
        empty=empty,
        files={"data/pin-profile.csv": text},
    ).of(
        [
            {"what": "the experts that the first tokens chose most", "hot": hot, "gain": hot.static},
            {"what": "the experts that were chosen last", "hot": hot, "gain": hot.recent},
        ],
        *columns,
    )


def hot_answer(static: hot_set.Gain, recent: hot_set.Gain, n_held: int, n_experts: int) -> tuple[Amount, ...]:
    """What the one set that was tested serves, and chance; and those chosen last, where only they reach the limit."""
    found = "a hot set: " if static.reaches == "yes" else ""
    amounts = [
        Amount(
            static.served,
            "share",
            f"of later choices served by the {q.count(n_held)} of {q.counted(n_experts, 'expert')} of each layer that "
            "earlier tokens chose most",
        ),
        Amount(n_held / n_experts, "share", f"by chance; {found}{gain_words(static)}"),
    ]
    if static.reaches != "yes" and recent.reaches == "yes":
        amounts.append(Amount(recent.served, "share", f"by the experts chosen last; {gain_words(recent)}"))
    return tuple(amounts)


def gain_words(gain: hot_set.Gain) -> str:
    """A gain, its interval and the limit: `gain of +0.351 (95 % interval +0.262 to +0.440), at least …`."""
    limit = {
        "yes": f"at least the limit of {hot_set.MARGIN:g}",
        "no": f"below the limit of {hot_set.MARGIN:g}",
        "open": f"undetermined whether it reaches the limit of {hot_set.MARGIN:g}",
    }[gain.reaches]
    return f"gain of {_signed(gain.gain)} (95 % interval {_signed(gain.low)} to {_signed(gain.high)}), {limit}"


def _signed(value: float) -> str:
    """`+0.059`, `−0.010`."""
    return f"{value:+.3f}".replace("-", "−")


def hot_set_counts(hot: hot_set.HotSet | None) -> str:
    """What the rows count."""
    if hot is None:
        return "The experts that some tokens chose most, and how many choices of later tokens they serve."
    return (
        f"Learned on the first {q.counted(hot.n_learned, 'generated token')}, scored on the {q.count(hot.n_scored)} "
        "after them. Gain: 0 is what as many experts serve by chance, 1 is every choice; the interval rests on "
        f"{hot_set.N_PARTS} parts of the scored tokens in a row. One static set was tested, not every set of its size. "
        "data/pin-profile.csv lists its experts, the most chosen first."
    )


HOT_EXPERTS = shared_access.cache_table(
    key="hot-experts",
    title="Is there a hot set of experts?",
    needs=needs.CHOICES,
    when=WITH_EXPERTS,
    content=_hot_experts,
    words={"limit": str(hot_set.MARGIN)},
    code=shared_experts.CHOSEN
    + """n_experts = experts.choice(run.tables).n_experts
data = hot_set.table(hot_set.hot_set(chosen, n_experts))""",
)
