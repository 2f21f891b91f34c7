"""The remedies of a run that were tried: each trial is an experiment, whose folder says what it found."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracegen.contract import documents
from tracegen.contract.errors import StoreError
from tracegen.contract.facts import Tried
from tracegen.contract.records import decode

FILE = "tried.json"  # in the folder of an experiment


def tried_of(experiments: Path, *names: str) -> tuple[Tried, ...]:
    """What was tried of a run, by the names under which its remedies were asked for (`big/run-001`, `big@v1`)."""
    return tuple(tried for tried in all_tried(experiments) if tried.of in names)


def all_tried(experiments: Path) -> list[Tried]:
    """What was tried; a file that cannot be read, or is none of a trial, is left out."""
    found = []
    for path in sorted(experiments.glob(f"*/{FILE}")):
        with suppress(OSError, StoreError, KeyError, TypeError, ValueError):
            document: Mapping[str, Any] = documents.read_json(path)
            found.append(decode(Tried, document["tried"]))
    return found
