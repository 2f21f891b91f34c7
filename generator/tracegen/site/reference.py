"""The reference page: what a trace holds and what it does not, every table and check, from the contract itself."""

from pathlib import Path

from tracegen.contract.check_keys import CHECKED
from tracegen.publishing.errata import ERRATA
from tracegen.report.words.terms import KINDS, MEMORY, STATES
from tracegen.storing import resources
from tracegen.storing.store import write_text

PATH, TITLE = "reference/index.html", "What a trace holds"
SUMMARY = "What is recorded and what is not, every table with its columns, and every check of a verdict."


def content(cache: Path) -> str:
    """The page's HTML, from the cache if this renderer has made it before: the contract loads pandas."""
    path = cache / f"reference-{resources.renderer_hash()[:16]}.html"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    html = render()
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob("reference-*.html"):
        old.unlink(missing_ok=True)
    write_text(path, html)
    return html


def render() -> str:
    """The page's HTML, from the tables' contract and the checks' titles and limits."""
    from tracegen.contract import needs, tables
    from tracegen.report.figures import catalogue

    forbids = {key: (catalogue.figures_of(key), catalogue.why(key)) for key in CHECKED}
    noted = {key: catalogue.noted_in(key) for key in CHECKED}
    for named, values in ((KINDS, tables.PASS_KINDS), (STATES, tables.OP_STATES), (MEMORY, tables.MEMORY_KINDS)):
        if set(named) != set(values):
            raise ValueError(f"the reference explains {tuple(named)}, the contract has {values}")
    changes = [(since, [e for e in ERRATA if e.since == since]) for since in dict.fromkeys(e.since for e in ERRATA)]
    template = resources.templates("site").get_template("reference.html")
    return template.render(
        title=TITLE,
        summary=SUMMARY,
        tables=tables.TABLES,
        checks=CHECKED,
        forbids=forbids,
        noted=noted,
        above_times=needs.NOTED_ABOVE_TIMES,
        changes=changes,
        kinds=KINDS,
        states=STATES,
        memory=MEMORY,
        units=tables.UNITS,
    )
