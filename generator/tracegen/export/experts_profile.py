"""`experts-profile`: how often each expert was chosen, as one JSON file: what decides which experts an engine keeps.

docs/programs.md describes it field by field.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from tracegen.analysis import experts
from tracegen.analysis.expert_cache import groups
from tracegen.contract.errors import SettingsError
from tracegen.export.format import Format, Source

SCHEMA = 1


def _write(source: Source, folder: Path) -> None:
    tables = {**source.tables, "routing": source.table("routing")}
    generated, prompt = experts.generated(tables), experts.of_phase(tables, "prompt")
    every = pd.concat([generated, prompt], ignore_index=True)
    if every.empty:
        raise SettingsError(f"{source.name}: no token of a prompt or generate pass chose an expert; export another run")
    sizes, model = experts.sizes(tables, every), source.run.facts.model
    each = {layer: group.expert_bytes for group in groups(tables) for layer in group.layers}
    document = {
        "schema": SCHEMA,
        "run": source.name,
        "model": {"file": Path(str(model.file)).name if model.file else None, "architecture": model.architecture},
        "layers": [
            {
                "layer": layer,
                "n_experts": n_experts,
                "n_used": int(every.loc[every["layer"].eq(layer), "rank"].max()) + 1,
                "expert_bytes": each.get(layer),
                "generated": _counts(generated, layer, n_experts),
                "prompt": _counts(prompt, layer, n_experts),
                "order": _order(generated if len(generated) else prompt, layer, n_experts),
            }
            for layer, n_experts in sizes.items()
        ],
    }
    text = json.dumps(document, indent=1) + "\n"
    (folder / f"{source.stem}-experts.json").write_text(text, encoding="utf-8")


def _counts(rows: pd.DataFrame, layer: int, n_experts: int) -> list[int]:
    """How many tokens chose each expert of a layer."""
    counts: list[int] = np.bincount(rows.loc[rows["layer"].eq(layer), "expert"], minlength=n_experts).tolist()
    return counts


def _order(rows: pd.DataFrame, layer: int, n_experts: int) -> list[int]:
    """The experts of a layer, the most chosen first, of equals the lower number."""
    order: list[int] = np.argsort(-np.array(_counts(rows, layer, n_experts)), kind="stable").tolist()
    return order


EXPERTS_PROFILE = Format(
    "experts-profile", "how often each expert of each layer was chosen, as one JSON file", _write, "-experts.json"
)
