"""An experiment as its pages and cards show it: versions, drafts and comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markupsafe import Markup, escape

from tracegen.contract.errors import TracegenError
from tracegen.contract.model import Run
from tracegen.contract.text import printable
from tracegen.publishing import privacy
from tracegen.publishing.bundle import Bundle, shells
from tracegen.publishing.versions import Published
from tracegen.report.document.page import Page, outline
from tracegen.site.about import About
from tracegen.site.comparisons import Compared
from tracegen.site.drafts import Draft, Drawing


@dataclass(frozen=True)
class Sibling:
    """A version or draft as the switch on a page lists it; `paths` has the path of each of its pages by key."""

    folder: str
    status: str
    created: str
    verdict: str
    paths: Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """One experiment of the site; versions and drafts are newest first.

    `runs` are the folders of the runs shown as drafts; `older` is the number of other unpublished runs. `tags` are
    those of the settings, None if these have none or cannot be read.
    """

    name: str
    question: str
    tags: list[str] | None
    published: list[Published]
    runs: list[Path]
    older: int
    drawing: Drawing
    comparisons: list[Compared]

    @property
    def drafts(self) -> list[Draft]:
        """The drafts that could be drawn; waits until they are."""
        return [draft for path in self.runs if isinstance(draft := self.drawing.drawn[path], Draft)]

    def bundle(self, run: Path) -> Bundle | None:
        """The draft of the run in this folder, None if it could not be drawn; waits until it is."""
        draft = self.drawing.drawn[run]
        return draft.bundle if isinstance(draft, Draft) else None

    @cached_property
    def abouts(self) -> dict[str, About]:
        """What versions that are not withdrawn and drafts say of their runs, by folder; waits until all are drawn."""
        return self.measured | {draft.run.name: About(draft.bundle) for draft in self.drafts}

    @cached_property
    def measured(self) -> dict[str, About]:
        """What versions that are not withdrawn say of their runs, by folder, newest first."""
        return {p.version.name: About(p.bundle) for p in self.published if p.version.status != "withdrawn"}

    @cached_property
    def siblings(self) -> list[Sibling]:
        """Every version and every draft, versions first, newest first; waits for no draft."""
        versions = [
            Sibling(p.version.name, p.version.status, p.version.created, p.version.verdict, _paths(p.bundle.pages))
            for p in self.published
        ]
        runs = [self.drawing.runs[path] for path in self.runs if path in self.drawing.runs]
        return versions + [Sibling(r.name, "draft", r.created, r.verdict, _paths(announced(r))) for r in runs]

    @cached_property
    def _switches(self) -> dict[tuple[str, str], str]:
        return {}

    def switch(self, page: str, to_experiment: str, folder: str) -> Markup:
        """The list of all versions and drafts on the page with this key of the one in `folder`; empty with only one.

        The list without its mark is rendered once for all versions: with 100 of them it takes longer than their pages.
        """
        if len(self.siblings) < 2:
            return Markup()
        if (page, to_experiment) not in self._switches:
            template = shells().get_template("switch.html")
            text = template.render(siblings=self.siblings, current=page, to_experiment=to_experiment)
            self._switches[page, to_experiment] = text
        item = f'<li data-folder="{escape(folder)}"><a '
        return Markup(self._switches[page, to_experiment].replace(item, f'{item}aria-current="true" ', 1))

    @property
    def not_drawn(self) -> list[str]:
        """The names of the drafts that the switch lists and that could not be drawn; waits until all are drawn."""
        runs, drawn = self.drawing.runs, self.drawing.drawn
        return [runs[path].name for path in self.runs if path in runs and not isinstance(drawn[path], Draft)]

    @property
    def problems(self) -> list[str]:
        """Why drafts are missing, one line each; waits until all are drawn."""
        failed = [(path, draft) for path in self.runs if isinstance(draft := self.drawing.drawn[path], TracegenError)]
        # without the part of the path that only this machine has
        texts = [f"Run {p.name}: {str(e).replace(f'{p.parents[2]}/', '')}" for p, e in failed]
        return [printable(privacy.public_text(text)) for text in texts]


def announced(run: Run) -> list[dict[str, str]]:
    """The pages that the draft of a run has, known before it is drawn."""
    return [Page(*page, body="").described for page in outline(run)]


def _paths(pages: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {page["key"]: page["path"] for page in pages}
