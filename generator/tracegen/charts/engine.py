"""The JavaScript engine that draws charts: its fonts, and the many addresses that it reserves."""

import os
import resource
from pathlib import Path
from threading import Lock

from tracegen.contract.errors import EnvironmentFailure

GIB = 1 << 30
ADDRESSES = 66 * GIB  # reserved, not used; with fewer the engine ends the whole process
FONTS = Path(__file__).with_name("fonts.conf")
TEXT = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">a</text></svg>'

_VARIABLE = "FONTCONFIG_FILE"
_settling = Lock()
_settled: list[bool] = []


def settle_fonts() -> None:
    """Let whatever this process draws have the fonts that the engine carries, the same on every machine.

    The engine looks for fonts when it meets the first text; it would read one of the machine again for each text, which
    takes longer than the rest of a drawing. Programs that this process starts know nothing of it.
    """
    import vl_convert

    with _settling:
        if _settled:
            return
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = str(FONTS)
        try:
            vl_convert.svg_to_png(TEXT)
        finally:
            del os.environ[_VARIABLE]
            if before is not None:
                os.environ[_VARIABLE] = before
        _settled.append(True)


def start() -> None:
    """Start the engine before the first chart comes."""
    import vl_convert

    settle_fonts()
    vl_convert.vegalite_to_svg({"mark": "point", "data": {"values": []}})


def refuse_few_addresses() -> None:
    """Raise EnvironmentFailure where a limit of addresses (`ulimit -v`) keeps the engine from starting."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise EnvironmentFailure(
            f"charts cannot be drawn: ulimit -v allows {limit / GIB:.1f} GiB of addresses, and the engine that draws "
            f"reserves {ADDRESSES // GIB} GiB, most of which it never uses; lift that limit (ulimit -v unlimited), and "
            "limit memory by a cgroup instead"
        )
