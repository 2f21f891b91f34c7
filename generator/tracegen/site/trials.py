"""The links between a run and the trials of its remedies: the site has them, not its bundles, which may stand alone."""

from collections.abc import Iterator, Mapping, Sequence

from tracegen.contract.facts import Tried
from tracegen.contract.text import printable
from tracegen.site.entry import Entry

# A page, by experiment and folder ("": all of the experiment) -> its links: address below experiments/, words.
Ways = Mapping[tuple[str, str], Sequence[tuple[str, str]]]


def ways_of(entries: Sequence[Entry], trials: Sequence[Tried]) -> Ways:
    """From each run to the trials of its remedies, and from these to the run; only where the site has both."""
    by_name = {entry.name: entry for entry in entries}
    ways: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for trial in trials:
        places = list(_places(by_name, trial.of))
        if trial.experiment not in by_name or not places:
            continue
        for place in places:
            ways.setdefault(place, []).append((f"{trial.experiment}/index.html", f"tried in {trial.experiment}"))
        experiment, folder = places[0]
        back = f"{experiment}/{folder}/index.html", f"prediction of {printable(trial.of)}"
        ways.setdefault((trial.experiment, ""), []).append(back)
    return ways


def links(ways: Ways, experiment: str, folder: str) -> list[tuple[str, str]]:
    """The links of a page."""
    return [*ways.get((experiment, folder), ()), *(ways.get((experiment, ""), ()) if folder else ())]


def _places(by_name: Mapping[str, Entry], of: str) -> Iterator[tuple[str, str]]:
    """Where the site shows a run or version, by `big/run-001` or `big@v1`: as a draft, and in versions of it."""
    experiment, _, folder = of.replace("@", "/").partition("/")
    entry = by_name.get(experiment)
    for sibling in entry.siblings if entry else ():
        if sibling.folder == folder:
            yield experiment, folder
    for published in entry.published if entry else ():
        if any(folder == f"run-{number:03d}" for number in published.version.runs):
            yield experiment, published.version.name
