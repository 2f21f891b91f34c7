"""The token panel of the operations page: the words of the run, and what layers do in the mean."""

from typing import Any

import pandas as pd

from tracegen.analysis.layer_means import BYTES, TIMES, layer_means
from tracegen.charts import theme
from tracegen.report.document.assets import Assets
from tracegen.report.figures.context import Context
from tracegen.report.pages.explorers.pass_disk import disk_tensors, recorded
from tracegen.report.pages.token_words import words


def token_panel(context: Context) -> dict[str, Any]:
    """What the scripts of the panel read.

    `words`: [visible text, id, number among the generated tokens, pass that took it in, pass that gave it, position].
    `recorded`: whether waiting (waited_ns) and reads (read_bytes) of passes are known; `tensors`: those that had any.
    `means`: [layer, group, then the columns of TIMES in ns and of BYTES] in the mean over `n_means` passes of `phase`.
    """
    means = _means(context)
    return {
        "words": [[w.visible, w.token, w.generated, w.taken, w.given, w.position] for w in words(context)],
        "means": [
            [_whole(row["layer"]), row["group"], *(_whole(row[c]) for c in (*TIMES, *BYTES))]
            for row in means.to_dict("records")
        ],
        "n_means": len(context.phase_passes),
        "phase": context.phase,
        "order": list(theme.GROUPS),
        "recorded": recorded(context),
        "tensors": disk_tensors(context),
    }


def layer_means_csv(context: Context, assets: Assets) -> str:
    """The path of the means as CSV."""
    return assets.csv("layer-means", _means(context))


def _means(context: Context) -> pd.DataFrame:
    """What layers do in a pass of the phase that figures of one token show."""
    return context.once("layer means", lambda: layer_means(context.ops, context.phase_passes, theme.GROUP_OF))


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else round(float(value))
