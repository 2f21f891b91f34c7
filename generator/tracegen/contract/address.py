"""Parses addresses: `NAME`, `NAME/run-003`, `NAME@v1`, and the anchors of pages (behind `#`).

NAME                      an experiment, or its newest run where a run is expected
NAME/run-003              a run
NAME@v1                   a published version
NAME@v1/memory#anchor     a page of it, and a place on the page
pass=3&node=12            a place: an operation; `pass=3` alone, a pass
tensor=17                 a place on the memory page
g0-n12                    a place on the graph page: a node of a graph
"""

import re
from dataclasses import dataclass

EXPERIMENTS = "experiments"  # the folder of a site in which the pages of experiments lie
CARD = "figures/card.png"  # in a bundle: its picture for lists of experiments

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED = re.compile(r"run-[0-9]+|v[0-9]+")
_RUN = re.compile(r"(?P<experiment>.+?)/(?:runs/(?=[0-9])|(?=run-))(?P<run>[^\s/]+)/?")
_VERSION = re.compile(r"(?P<experiment>.+)(?:@v|/versions/v?)(?P<number>[0-9]+)/?")
_NUMBER = re.compile(r"(?:run-)?([0-9]{1,9})")
_REFERENCE = re.compile(r"(?P<citation>[\w.-]+@v[0-9]+)(?:/(?P<page>[a-z][a-z0-9-]*))?(?:#(?P<anchor>[^\s#]+))?")
_OP = re.compile(r"pass=(?P<pass_id>[0-9]{1,9})(?:&node=(?P<node>[0-9]{1,9}))?")
_TENSOR = re.compile(r"tensor=([0-9]{1,9})")
_NODE = re.compile(r"g([0-9]{1,9})-n([0-9]{1,9})")


def name_problem(name: str) -> str:
    """Why an experiment cannot have this name; an empty text when it can."""
    if not _NAME.fullmatch(name):
        return f"{name!r}; allowed are 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit"
    if _RESERVED.fullmatch(name):
        return f"{name!r} is reserved for runs and versions; choose another name"
    return ""


def split_run(text: str) -> tuple[str, str]:
    """The experiment and the run in `NAME/run-003` or `NAME/runs/003`; (`text`, "") when `text` names no run."""
    match = _RUN.fullmatch(text)
    return (match["experiment"], match["run"]) if match else (text, "")


def run_number(text: str) -> int | None:
    """The number in `run-003` or `3`; None for anything else."""
    match = _NUMBER.fullmatch(text)
    return None if match is None else int(match[1])


def split_version(text: str) -> tuple[str, int] | None:
    """The experiment and the version number in `NAME@v1` or `NAME/versions/1`; None for anything else."""
    match = _VERSION.fullmatch(text)
    return None if match is None else (match["experiment"], int(match["number"]))


@dataclass(frozen=True)
class Reference:
    """A place in a published version; `page` is None and `anchor` empty where the reference has none."""

    citation: str
    page: str | None
    anchor: str


def reference(text: str) -> Reference | None:
    """Parse a reference such as `sample@v1/file#fig-heatmap`; None when `text` is no reference."""
    match = _REFERENCE.fullmatch(text.strip())
    return None if match is None else Reference(match["citation"], match["page"], match["anchor"] or "")


def op(anchor: str) -> tuple[int, int | None] | None:
    """The pass, and the node or None, in `pass=3&node=12`; None for any other anchor."""
    match = _OP.fullmatch(anchor)
    return match and (int(match["pass_id"]), None if match["node"] is None else int(match["node"]))


def tensor(anchor: str) -> int | None:
    """The number of the tensor in `tensor=17`; None for any other anchor."""
    match = _TENSOR.fullmatch(anchor)
    return None if match is None else int(match[1])


def node(anchor: str) -> tuple[int, int] | None:
    """The graph and the node in `g0-n12`; None for any other anchor."""
    match = _NODE.fullmatch(anchor)
    return None if match is None else (int(match[1]), int(match[2]))
