"""Charts that tests drew before: many tests make pages of the same tables, and drawing is a third of making a page."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from typing import Any

import vl_convert

MOST = 256  # drawings that are kept, some 100 KB each

_draw = vl_convert.vegalite_to_svg
_kept: OrderedDict[bytes, str] = OrderedDict()


def vegalite_to_svg(document: Any, *arguments: Any, **named: Any) -> str:
    """What `vl_convert.vegalite_to_svg` returns; drawn once for each document."""
    told = json.dumps([document, arguments, named], sort_keys=True).encode()
    key = hashlib.sha256(told).digest()
    if key not in _kept:
        _kept[key] = _draw(document, *arguments, **named)
        if len(_kept) > MOST:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key]


def forget() -> None:
    """Draw everything anew: for tests that compare two drawings of the same document."""
    _kept.clear()
