"""What the bar of what is chosen knows on every page: the names of passes, and which graph each pass ran."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter

_TOKEN = re.compile(r"token (\d+)")

Named = tuple[int, int, int | str]  # first and last pass, and the token of the first, or the name of the only one


def pass_names(labels: Mapping[int, str]) -> list[Named]:
    """The names of passes in few words: neighbours that give one token after another are one entry."""
    names: list[Named] = []
    for pass_id, label in sorted(labels.items()):
        found = _TOKEN.fullmatch(label)
        if not found:
            names.append((pass_id, pass_id, label))
            continue
        token = int(found[1])
        first, last, name = names[-1] if names else (0, 0, "")
        if isinstance(name, int) and last == pass_id - 1 and name + pass_id - first == token:
            names[-1] = (first, pass_id, name)
        else:
            names.append((pass_id, pass_id, token))
    return names


def graph_runs(graphs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """From which pass on which graph ran; `graphs`: pass and graph of each pass that evaluated one, in their order."""
    return [next(run) for _, run in groupby(graphs, itemgetter(1))]
