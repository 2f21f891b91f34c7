"""The one picture of a run as a small PNG for lists of experiments: no names, no scales.

A PNG holds two pictures: the upper half for light ground, the lower half for dark; CSS shows one of them.
"""

import numpy as np
import pandas as pd

from tracegen.charts import png
from tracegen.charts.theme import GROUPS, INK

WIDTH, HEIGHT = 320, 128  # px of each half
_ON_DARK = {light: dark for _, light, dark in (*GROUPS.values(), *INK.values())}


def card(rects: pd.DataFrame) -> bytes:
    """The PNG of rectangles: left, right, top, bottom in any unit, colour of the theme on light ground; later on top.

    The rectangles fill the picture; what none covers is transparent. Each is at least a pixel wide and high.
    """
    colours = list(dict.fromkeys(rects["colour"]))
    pixels = np.zeros((HEIGHT, WIDTH), np.uint8)
    for name, ends, most in (("x", ("left", "right"), WIDTH), ("y", ("top", "bottom"), HEIGHT)):
        low, high = float(rects[ends[0]].min()), float(rects[ends[1]].max())
        scale = most / max(high - low, 1e-9)
        begin = ((rects[ends[0]] - low) * scale).round().astype(int).clip(0, most - 1)
        end = ((rects[ends[1]] - low) * scale).round().astype(int).clip(1, most)
        rects = rects.assign(**{f"{name}0": begin, f"{name}1": np.maximum(end, begin + 1)})
    for x0, x1, y0, y1, colour in rects[["x0", "x1", "y0", "y1", "colour"]].itertuples(index=False):
        pixels[y0:y1, x0:x1] = colours.index(colour) + 1
    dark = np.where(pixels > 0, pixels + len(colours), 0).astype(np.uint8)
    opaque = [f"{colour}ff" for colour in (*colours, *(_ON_DARK[colour] for colour in colours))]
    return png.of_colours(np.concatenate([pixels, dark]), [f"{INK['ground'][1]}00", *opaque])
