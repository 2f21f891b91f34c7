"""What the words of pages and tables mean; the reading guide of a report and the reference page print them."""

from pathlib import Path

from tracegen.contract.prose import sections


def _terms(head: str) -> dict[str, str]:
    """Word -> meaning: the lines `- word: meaning` under a head of `terms.md`."""
    text = sections(Path(__file__).with_name("terms.md"))[head]
    return dict(line.removeprefix("- ").split(": ", 1) for line in text.split("\n"))


KINDS = _terms("Kinds of pass")
STATES = _terms("States of an operation")
MEMORY = _terms("Kinds of memory")
GROUPS = _terms("Parts of the model")
CHECKS = _terms("Checks")
VERDICTS = _terms("Verdicts")


def memory_name(kind: object, copied: str = "copied") -> str:
    """The name of a kind of memory on pages: `disk` of the tables is `mapped`; `copied`: see `Context.copied`."""
    return {"disk": "mapped", "copied": copied}.get(str(kind), str(kind))
