"""One file per chart: a DataFrame in, an altair chart out; nothing is saved here."""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module of this room by its name: `tracegen.charts.theme` needs no import of its own."""
    module = f"{__name__}.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
