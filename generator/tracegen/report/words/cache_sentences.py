"""The sentences about caches and hot sets: values in, text out; none of them reads a table."""

from collections.abc import Sequence

from tracegen.analysis.hot_set import MARGIN, Gain
from tracegen.contract import quantities as q

NO_SPEED = "A simulation of what was touched, not a prediction of speed."
POLICIES = {
    "Belady": "keeps what will be used soonest, takes in no more: it knows the future, and no cache does better",
    "static": "holds what the whole run uses most, and never changes: it knows the run",
    "LRU": "drops what was not used for longest",
}
RATE = (
    "Hit rate: the share of uses that find their granule in the cache, of all uses that are not the first of their "
    "granule; the first one misses in every cache."
)
KERNEL = "The point is what the kernel served of generated tokens; a kernel is not LRU. "
NO_REPEAT = "Nothing was touched twice, so that no cache could serve anything."


def rates_title(lru: float, best: float, target: float) -> str:
    """How much memory LRU and the best replacement need for a hit rate, bytes."""
    return (
        f"{q.percent(target)} of repeated uses in all measured passes hit with a cache of {q.size(lru)} that drops "
        f"what was not used for longest, and with {q.size(best)} at best"
    )


def cliff_title(below: float, size: float, rate: float, best: float, target: float) -> str:
    """The title where LRU serves nearly nothing below a size, and from it on nearly all; `below`, `rate`: hit rates."""
    return (
        f"A cache that drops what was not used for longest serves at most {q.percent(below)} of repeated uses in all "
        f"measured passes below {q.size(size)}, and {q.percent(rate)} from there on; at best {q.percent(target)} take "
        f"{q.size(best)}"
    )


def kernel_title(size: float, rate: float, lru: float, below: float | None, target: float) -> str:
    """What the kernel served with how many bytes of the file in memory, beside what LRU would serve."""
    did = f"With {q.size(size)} of the file in memory the kernel served at least {q.percent(rate)} of what tokens use"
    if below is not None:
        return f"{did}; LRU would serve at most {q.percent(below)} with less than {q.size(lru)}"
    return f"{did}; LRU would serve {q.percent(target)} with {q.size(lru)}"


def served(size: float, rate: float) -> str:
    """What the kernel did, in a cell: `measured: served at least 76.9 % of what tokens use, …`."""
    return f"measured: served at least {q.percent(rate)} of what tokens use, with {q.size(size)} of the file in memory"


ALONE = "One pass was measured: what it uses again is no more than what neighbours in the file share."
ONE_PASS = "It takes at least two passes to say what passes in a row need together."


def working_set_title(kind: str, granule: int, of: Sequence[tuple[int, float]]) -> str:
    """What passes of a kind touch together, in granules of so many bytes; `of`: number of passes in a row, bytes."""
    if not of:
        return ""
    (_, one), *more = of
    parts = [f"{q.count(n)} in a row {q.size(size)}" for n, size in more]
    what = f"{q.size(one)} of the mapped file"
    return ", ".join([f"In granules of {q.size(granule)} a {kind} pass touches {what}", *parts])


def population(n_uses: int, n_granules: int, granule: int, n_passes: int) -> str:
    """What was counted."""
    return (
        f"n = {q.counted(n_uses, 'use')} of {q.counted(n_granules, 'granule')} of {q.size(granule)} in "
        f"{q.counted(n_passes, 'pass')}; an operation uses a granule once."
    )


def grouped(group: int) -> str:
    """That the bound need not be reached, because room was looked at between groups of uses only."""
    if group == 1:
        return ""
    return (
        f" For Belady, room is looked at after every {q.count(group)} uses only: no cache serves more than this line "
        "says, and the best one may serve less."
    )


def cycle(touched: float | None) -> str:
    """What a token touches, beside the size of a cache; `touched` in bytes."""
    if touched is None:
        return ""
    return f" Dashed: the {q.size(touched)} that a generated token touches (median)."


def hot_title(static: Gain, recent: Gain, n_kept: int, n_experts: int) -> str:
    """What the one set that was tested serves, its gain with interval, and whether that reaches the limit."""
    begin = "There is a hot set: the" if static.reaches == "yes" else "The"
    return (
        f"{begin} {q.count(n_kept)} of {q.counted(n_experts, 'expert')} of each layer that earlier tokens chose most "
        f"serve {q.percent(static.served)} of later choices ({q.percent(n_kept / n_experts)} by chance): "
        f"{gain_words(static)}{_chosen_last(static, recent)}"
    )


def _chosen_last(static: Gain, recent: Gain) -> str:
    """What those chosen last serve, where only they are worth a cache."""
    if static.reaches == "yes" or recent.reaches != "yes":
        return ""
    return f"; those chosen last serve {q.percent(recent.served)}, {gain_words(recent)}"


def gain_words(gain: Gain) -> str:
    """A gain, its interval and what that shows: `a gain of +0.351 (95 % interval +0.262 to +0.440), at least …`."""
    ends = f"a gain of {signed_gain(gain.gain)} (95 % interval {signed_gain(gain.low)} to {signed_gain(gain.high)})"
    if gain.reaches == "yes":
        return f"{ends}, at least the limit of {MARGIN:g}"
    than = "more than chance" if gain.low > 0 else ""
    if gain.reaches == "no":
        below = f"{ends}, below the limit of {MARGIN:g}"
        if gain.high < 0:
            return f"{below} and less than chance"
        return f"{below}; {than or 'more than chance is neither shown nor excluded'}"
    if than:
        return f"{ends}, {than}; that it reaches the limit of {MARGIN:g} is neither shown nor excluded"
    return f"{ends}; neither more than chance nor the limit of {MARGIN:g} is shown or excluded"


def signed_gain(value: float) -> str:
    """`+0.059`, `−0.010`."""
    return f"{value:+.3f}".replace("-", "−")


def too_few(n_tokens: int, least: int) -> str:
    """Why a hot set was not looked for."""
    return (
        f"{q.counted(n_tokens, 'token')} {'is' if n_tokens == 1 else 'are'} too few to learn a hot set on some and "
        f"score it on others: it takes {q.count(least)}. Generate more tokens (tokens = {least + 1})."
    )


ITEMS = {
    "expert": "expert of a tensor",
    "tensor": "tensor without experts",
    "whole tensor": "tensor, whole",
    "2097152 bytes": "granule of 2 MiB",
    "4096 bytes": "granule of 4 KiB",
}


def reuse_title(experts: bool, half: int | None, most: int | None) -> str:
    """Within how many passes half and 90 % of the repeated uses come, of experts or of tensors."""
    if half is None or most is None:
        return ""
    uses = f"of the repeated uses of {'an expert' if experts else 'a tensor'} in all measured passes come within"
    if half == most:
        return f"90 % {uses} {q.counted(most, 'pass')}"
    return f"Half {uses} {q.counted(half, 'pass')}, 90 % within {q.count(most)}"


def sampled_granules(kind: str, share: float, error: float) -> str:
    """How granules of a kind were sampled; `error`: by how much quarters of the sample differ from it."""
    size = ITEMS[kind].removeprefix("granule of ")
    return (
        f" Of the granules of {size} {q.percent(share)} were counted and scaled up; a quarter of them alone would say "
        f"up to {q.percent(error)} more or less."
    )


def concentration_title(half: float, most: float) -> str:
    """Which shares of the file's bytes have half and 80 % of the touched bytes."""
    return (
        f"Half of the bytes that all measured passes touched in the mapped file come from {q.percent(half)} of the "
        f"bytes of the tensors there, 80 % from {q.percent(most)}"
    )


def never_asked(n: int, n_experts: int) -> str:
    """How many experts of tensors no token asked for; empty without experts."""
    if not n_experts:
        return ""
    if not n:
        return f" Each of the {q.count(n_experts)} experts of tensors was asked for."
    return f" {q.count(n)} of {q.count(n_experts)} experts of tensors were never asked for."


def keep_title(served: float, kept_bytes: float) -> str:
    """What the tensors that fit into half of the file's size serve."""
    if not kept_bytes:
        return "No tensor that was touched fits into half of the file’s size"
    return (
        f"The hottest tensors, each kept whole, {q.size(kept_bytes)}, hold {q.percent(served)} of the bytes that all "
        "measured passes touched in the mapped file"
    )
