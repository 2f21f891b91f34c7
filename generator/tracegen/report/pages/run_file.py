"""The facts and checks of a run as a file of its report: what a comparison with another run needs besides tables."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tracegen.contract import shapes
from tracegen.contract.facts import Facts
from tracegen.contract.model import Run
from tracegen.contract.records import encode, shape_of

PATH = "data/run.json"
SCHEMA = 1
SHAPE: Mapping[str, Any] = {shapes.NEEDED: ("facts", "checks"), "facts": shape_of(Facts), "checks": [shapes.CHECK]}
_ELSEWHERE = ("text",)  # prompt, text and tokens are on the pages and in the tables; but not the text of each token


def run_file(run: Run) -> str:
    """`data/run.json`: name, date, facts and checks of a run in its public form; the metadata of models is left out.

    Of prompt and text only the text of each token is there, which a reader of the table of tokens needs.
    """
    facts = {key: value for key, value in encode(run.facts).items() if key not in _ELSEWHERE}
    if run.facts.text.pieces:
        facts["text"] = {"pieces": run.facts.text.pieces}
    facts["model"] = _described(facts.get("model", {}))
    facts["more_models"] = [_described(model) for model in facts.get("more_models", ())]
    document = {
        "schema": SCHEMA,
        "experiment": run.experiment,
        "run": run.number,
        "created": run.created,
        "facts": facts,
        "checks": [asdict(check) for check in run.checks],
    }
    return json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def _described(model: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in model.items() if k != "metadata"}
