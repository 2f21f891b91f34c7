"""Channels that many charts have: names and numbers at the left, numbers below, and a place for each of several."""

from collections.abc import Sequence
from typing import Any

from tracegen.charts import theme
from tracegen.charts.lazy import alt


def names(field: str, order: Sequence[str], room: int, axis: dict[str, Any] | None = None, **scale: Any) -> Any:
    """A row for each name, in their order, without ticks; the room of the names is `room` px wide."""
    named = theme.y_axis(room, ticks=False, domain=False, **(axis or {}))
    return alt.Y(f"{field}:N", sort=list(order), title=None, scale=dict(domain=list(order), **scale), axis=named)


def amounts(field: str, title: str) -> Any:
    """Numbers at the left, from 0 on."""
    return alt.Y(f"{field}:Q", title=title, scale=dict(zero=True), axis=theme.y_axis(theme.NUMBERS, tickCount=5))


def along(field: str, title: str, width: int, scale: dict[str, Any] | None = None, many: int = 8, **axis: Any) -> Any:
    """Numbers below, with `many` ticks at full width; `axis`: what the axis has besides."""
    axis = theme.x_axis(width, tickCount=theme.ticks(many, width), **axis)
    return alt.X(f"{field}:Q", title=title, axis=axis, **({"scale": scale} if scale else {}))


def places(
    field: str,
    title: str,
    order: Sequence[Any],
    least: int,
    plot: int,
    axis: dict[str, Any],
    scale: dict[str, Any],
    **more: Any,
) -> Any:
    """A place below for each of `order`; as many are named as have room for `least` px each in `plot` px."""
    every = max(1, -(-len(order) * least // plot))
    axis = dict(labelAngle=0, ticks=False, values=list(order[::every])) | axis
    return alt.X(field, title=title, scale=dict(domain=list(order)) | scale, axis=axis, **more)
