"""altair as `alt`, which is loaded when the first chart is made: to load it takes longer than most commands."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt
else:

    class _Altair:
        def __getattr__(self, name: str) -> Any:
            import altair

            return getattr(altair, name)

    alt = _Altair()

__all__ = ["alt"]
