"""Made choices of prompts for tests of fields: frames as `prompt_choices` takes them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegen.analysis.prompt_choices import COLUMNS

LAYERS, EXPERTS, CHOSEN = 3, 8, 2


def made(seed: int, sizes: tuple[int, ...] = (3, 3, 3, 3, 3), tokens: int = 15) -> pd.DataFrame:
    """Prompts whose tokens choose by a law of their own, whatever the field: tokens of a prompt resemble each other."""
    random = np.random.default_rng(seed)
    rows = []
    for field, size in enumerate(sizes):
        for prompt in range(size):
            for layer in range(LAYERS):
                law = 0.01 + random.dirichlet(np.ones(EXPERTS))
                for token in range(tokens):
                    for expert in random.choice(EXPERTS, CHOSEN, replace=False, p=law / law.sum()):
                        rows.append((f"f{field}/{prompt}", f"f{field}", layer, int(expert), token, 0))
    return pd.DataFrame(rows, columns=COLUMNS)


def planted(choices: pd.DataFrame, prompts: set[str], layer: int, expert: int, share: float = 1.0) -> pd.DataFrame:
    """The same, but the first `share` of the tokens of these prompts choose the expert in the layer, all others do not.

    A token that may not choose it takes expert + 1 (or + 2) instead.
    """
    kept = choices[choices["layer"] != layer]
    rows = []
    for (prompt, field), of in choices[choices["layer"] == layer].groupby(["prompt", "field"], sort=False):
        tokens = sorted(set(of["pass_id"]))
        for place, token in enumerate(tokens):
            chosen = [e for e in of.loc[of["pass_id"] == token, "expert"] if e != expert][:1]
            if prompt in prompts and place < share * len(tokens):
                second = expert
            else:
                second = next(e for e in (expert + 1, expert + 2) if e not in chosen)
            rows += [(prompt, field, layer, e, token, 0) for e in (*chosen, second)]
    return pd.concat([kept, pd.DataFrame(rows, columns=COLUMNS)], ignore_index=True)


def by_hand(shares: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
    """One layer: prompt -> (tokens, how many of them choose expert 0; the others choose 1); FIELD/NAME."""
    rows = [
        (prompt, prompt.partition("/")[0], 0, 0 if token < n else 1, token, 0)
        for prompt, (tokens, n) in shares.items()
        for token in range(tokens)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
