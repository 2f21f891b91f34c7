"""settings.json of the older tools, as the experiment.toml of an experiment here."""

import json
from collections.abc import Mapping
from typing import Any

from tracegen.contract.errors import TraceFormatError

QUESTION = "What does this model do to memory and disk?"


def as_toml(name: str, document: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The text of experiment.toml, and what of the file means nothing here. Raises TraceFormatError.

    Model, prompt and number of tokens are kept; folders of programs and temporary files are not.
    """
    given = document.get("experiment")
    wanted = {"model_path": str, "prompt": str, "tokens_to_generate": int}
    if not isinstance(given, Mapping):
        raise TraceFormatError(f"{name}: expected an object `experiment`, found {type(given).__name__}")
    for key, kind in wanted.items():
        if not isinstance(given.get(key), kind) or isinstance(given.get(key), bool):
            raise TraceFormatError(f"{name}: expected experiment.{key} as {kind.__name__}, found {given.get(key)!r}")
    ignored = tuple(f"{name}: {key} is ignored" for key in ("paths", "temp_files") if document.get(key))
    lines = (
        f"question = {_text(QUESTION)}",
        f"model = {_text(given['model_path'])}",
        f"prompt = {_text(given['prompt'])}",
        f"tokens = {given['tokens_to_generate']}",
    )
    return "".join(f"{line}\n" for line in lines), ignored


def _text(value: str) -> str:
    """A TOML string: JSON's escapes are among those of TOML, but for the control character DEL."""
    return json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
