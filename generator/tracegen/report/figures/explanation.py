"""The explanation of a figure, table or explorer as a page prints it, and how much of a caption it adds."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import iter_modules
from string import Template

from tracegen import analysis
from tracegen.report.figures.figure import Part

MOST = 40  # words below a figure


@dataclass(frozen=True)
class Explained:
    """The explanation on a page: `code` is a complete program that computes the data of the file `csv`."""

    part: Part
    code: str
    csv: str


def explained(part: Part, address: str, csv: str, numbers: Mapping[str, object]) -> Explained:
    """The explanation of `part` for a page of the run or version at `address`; without `csv` it has no code."""
    code = _whole(part.code, address, numbers) if part.code and csv else ""
    return Explained(part, code, csv)


def _whole(code: str, address: str, numbers: Mapping[str, object]) -> str:
    """The program: imports, the line that loads the run, the lines of `code`."""
    lines = list(filter(None, Template(code).substitute(numbers).splitlines()))
    named = [line for line in lines if line.startswith("from ")]
    imports = sorted([*named, *_imports("\n".join(lines))])
    rest = [line for line in lines if line not in named]
    return "\n".join(["import tracegen", *imports, "", f"run = tracegen.load({address!a})", *rest])


@cache
def _analyses() -> set[str]:
    """The names of the modules of analyses."""
    return {module.name for module in iter_modules(analysis.__path__)}


def _imports(code: str) -> list[str]:
    """The lines that import the analyses, and the groups of components, that code names and does not set."""
    nodes = list(ast.walk(ast.parse(code)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    known |= {node.name for node in nodes if isinstance(node, ast.alias)}
    free = {node.id for node in names} - known
    used = sorted(free & _analyses())
    return [
        *([f"from tracegen.analysis import {', '.join(used)}"] if used else []),
        *(["from tracegen.charts import theme"] if "theme" in free else []),
    ]


def shortened(caption: str) -> tuple[str, str]:
    """The first sentences of a caption, at most MOST words if the first one has no more, and the others, which follow
    the explanation."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z\d“])", caption.strip())
    first = sentences[:1]
    for sentence in sentences[1:]:
        if sum(len(each.split()) for each in (*first, sentence)) > MOST:
            break
        first.append(sentence)
    return " ".join(first), " ".join(sentences[len(first) :])
