"""Standalone drawings: their colours on dark ground."""

import pytest

from tracegen.charts import theme


def test_on_dark_ground_every_colour_is_the_dark_one_of_its_name() -> None:
    light, dark = theme.variables()
    drawn = "".join(f'<path fill="{colour}" stroke="none"/>' for colour in light.values())
    assert theme.on_dark(drawn) == "".join(f'<path fill="{dark[name]}" stroke="none"/>' for name in light)
    assert theme.on_dark('<path fill="url(#a)" stroke="transparent"/>') == '<path fill="url(#a)" stroke="transparent"/>'


@pytest.mark.parametrize("colour", ["#c3c9d1", "red", "#fff"])
def test_a_drawing_with_a_colour_of_its_own_is_not_turned_dark(colour: str) -> None:
    assert theme.on_dark(f'<path fill="{theme.INK["ink"][1]}" stroke="{colour}"/>') == ""
