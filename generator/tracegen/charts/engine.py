"""What drawing charts needs of the machine: the JavaScript engine that draws them reserves many addresses."""

import os
import resource
from functools import cache
from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure

GIB = 1 << 30
ADDRESSES = 66 * GIB  # reserved, not used; with fewer the engine ends the whole process

FONTS = Path(__file__).with_name("fonts.conf")


@cache
def start() -> None:
    """Start the engine with the fonts that it carries, which are the same on every machine.

    It would read a font of the machine anew for each text, which takes longer than the rest of a drawing. It looks
    for fonts once, so the programs that this one starts see no other variable of fontconfig.
    """
    import vl_convert

    refuse_few_addresses()
    before = os.environ.get("FONTCONFIG_FILE")
    os.environ["FONTCONFIG_FILE"] = str(FONTS)
    try:
        vl_convert.vegalite_to_svg({"mark": "text", "data": {"values": [{}]}, "encoding": {"text": {"value": "a"}}})
    finally:
        del os.environ["FONTCONFIG_FILE"]
        if before is not None:
            os.environ["FONTCONFIG_FILE"] = before


def refuse_few_addresses() -> None:
    """Raise EnvironmentFailure where a limit of addresses (`ulimit -v`) keeps the engine from starting."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise EnvironmentFailure(
            f"charts cannot be drawn: ulimit -v allows {limit / GIB:.1f} GiB of addresses, and the engine that draws "
            f"reserves {ADDRESSES // GIB} GiB, most of which it never uses; lift that limit (ulimit -v unlimited), and "
            "limit memory by a cgroup instead"
        )
