"""Numbers as pages write them: thin spaces, IEC units, three significant digits, `not recorded` for unknown."""

from collections.abc import Sequence
from typing import Any

from tracegen.contract.text import UNKNOWN as UNKNOWN
from tracegen.contract.text import ended as ended
from tracegen.contract.text import printable as printable
from tracegen.contract.text import three as three

NONE = "none"
NOT_APPLICABLE = "not applicable"
THIN = "\u202f"
SIUNITX = {  # the units of values as pages write them -> as LaTeX's siunitx does
    "TiB": r"\tebi\byte",
    "GiB": r"\gibi\byte",
    "MiB": r"\mebi\byte",
    "KiB": r"\kibi\byte",
    "B": r"\byte",
    "tokens/s": r"\tokens\per\second",
    "ns": r"\nano\second",
    "µs": r"\micro\second",
    "ms": r"\milli\second",
    "s": r"\second",
    "%": r"\percent",
}
# Unit, its length in ns, and the smallest duration in ns that is written in it.
_TIMES = (("h", 3600e9, 7200e9), ("min", 60e9, 120e9), ("s", 1e9, 1e9), ("ms", 1e6, 1e6), ("µs", 1e3, 1e3))


def known(value: Any) -> bool:
    """Whether there is a value: not None, NaN, or the NA of pandas, which has no truth value."""
    try:
        return value is not None and bool(value == value)
    except TypeError:
        return False


def count(value: Any) -> str:
    """`12 345`, exact."""
    return f"{int(value):,}".replace(",", THIN) if known(value) else UNKNOWN


def noun(number: Any, one: str, many: str = "") -> str:
    """`pass` for 1, else `passes`."""
    return one if known(number) and int(number) == 1 else many or one + ("es" if one.endswith("s") else "s")


def counted(number: Any, one: str, many: str = "") -> str:
    """`1 pass`, `3 passes`."""
    return f"{count(number)} {noun(number, one, many)}"


def trimmed(shape: Sequence[Any], least: int) -> list[Any]:
    """A shape in ggml's order without the sizes of 1 at its end, but for the `least` first ones."""
    n = len(shape)
    while n > least and str(shape[n - 1]) == "1":
        n -= 1
    return list(shape[:n])


def decimal(value: Any, digits: int = 1) -> str:
    """`12 345.6`: a fixed number of decimals, for columns; empty when unknown."""
    return f"{float(value):,.{digits}f}".replace(",", THIN) if known(value) else ""


def size(value: Any) -> str:
    """`4.50 MiB`; below 1 KiB exact bytes."""
    if not known(value):
        return UNKNOWN
    amount = float(value)
    for unit, n_bytes in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(amount) >= n_bytes:
            return f"{three(amount / n_bytes)} {unit}"
    return f"{int(amount)} B"


def duration(value_ns: Any) -> str:
    """`1.23 ms` from nanoseconds; seconds up to 120, minutes up to 120, then hours."""
    if not known(value_ns):
        return UNKNOWN
    amount = float(value_ns)
    for unit, ns, least in _TIMES:
        if abs(amount) >= least:
            return f"{three(amount / ns)} {unit}"
    return f"{amount:.0f} ns"


def rate(value: Any) -> str:
    """`12.3 tokens/s`."""
    return f"{three(float(value))} tokens/s" if known(value) else UNKNOWN


def parameters(number: Any) -> str:
    """`7.24 B`, `27.1 M`: how many numbers the weights of a model are, as llama-bench writes it."""
    if not known(number):
        return UNKNOWN
    for unit, size in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return str(int(number))


def percent(value: Any) -> str:
    """`12.3 %` from a share; `< 0.1 %` and `> 99.9 %` keep tiny shares from becoming 0 % and large ones 100 %."""
    if not known(value):
        return UNKNOWN
    parts = 100 * float(value)
    if 0 < parts < 0.1:
        return "< 0.1 %"
    if 99.9 < parts < 100:
        return "> 99.9 %"
    return f"{parts:.1f} %" if parts not in (0.0, 100.0) else f"{parts:.0f} %"


def yes_no(value: object) -> str:
    """`on`, `off` or `not recorded`."""
    return UNKNOWN if not isinstance(value, bool) else "on" if value else "off"


def amount(value: Any, unit: str) -> str:
    """A number with the unit of its measure: `4.32 tokens/s`, `12.3 ms`, `8.00 MiB`, `4.50 GiB/s`, `12.3 %`, `109`."""
    if unit == "bytes/s":
        return f"{size(value)}/s" if known(value) else UNKNOWN
    written = {"ns": duration, "bytes": size, "tokens/s": rate, "share": percent}.get(unit)
    if written:
        return written(value)
    return count(value) if not known(value) or float(value).is_integer() else three(value)


def p_value(p: float) -> str:
    """`0.0079`, `< 0.0001`."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"


def p_words(p: float) -> str:
    """`p = 0.0079`, `p < 0.0001`."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
