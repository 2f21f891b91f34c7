"""The MkDocs plugin: short hooks that call `gather.py` and `journal.py`.

`on_config` gathers everything before MkDocs empties the site folder: a build that
fails there leaves the old site unchanged.
"""

import logging
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache
from markupsafe import escape
from mkdocs.config.base import Config
from mkdocs.config.config_options import Type
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure import StructureItem
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from mkdocs.utils import markdown_extensions
from watchdog.events import FileSystemEvent, FileSystemEventHandler

from tracegen.contract.credentials import without_user
from tracegen.contract.errors import SettingsError, TracegenError
from tracegen.contract.text import printable
from tracegen.publishing import privacy
from tracegen.publishing.bundle import CHROME
from tracegen.publishing.exposed import exposed
from tracegen.publishing.versions import Published
from tracegen.site import files as site_files
from tracegen.site import gather as site
from tracegen.site import home, journal, output, references
from tracegen.site import search as site_search
from tracegen.site.output import compose
from tracegen.site.serving import guard
from tracegen.storing import resources
from tracegen.storing.parts import is_part

log = logging.getLogger("mkdocs.plugins.tracegen")

FRONT_PAGES = ("index.md", "README.md", "index.html")  # MkDocs makes the front page of the site from one of these


class TracegenConfig(Config):  # type: ignore[no-untyped-call]  # MkDocs left it untyped
    """The plugin's options in mkdocs.yml."""

    experiments_dir = Type(str, default="experiments")
    drafts = Type(int, default=5)
    verify = Type(bool, default=False)
    home = Type(bool, default=True)
    compare = Type(list, default=[])


class TracegenPlugin(BasePlugin[TracegenConfig]):  # type: ignore[no-untyped-call]
    """Shows the experiments beside the journal; the bodies of their pages are never changed."""

    site: site.Site
    references: references.References
    entries: dict[str, home.JournalEntry]

    def on_config(self, config: MkDocsConfig) -> None:
        """Gather and check all versions; give the theme the template of our pages, and the journal its references."""
        root, self.entries = _root(config), {}
        try:
            self.site = site.gather(
                root / self.config.experiments_dir,
                root / resources.LOCAL / "cache",
                drafts=self.config.drafts,
                verify=self.config.verify,
                known=privacy.this_machine(),
                compare=self.config.compare,
                pairs=references.pairs_in(Path(config.docs_dir), markdown_extensions),
                journal=any((Path(config.docs_dir) / name).is_file() for name in FRONT_PAGES),
            )
            _refuse_collisions(self.site, Path(config.docs_dir))
        except TracegenError as error:
            raise PluginError(str(error)) from error
        for name in ("site_url", "repo_url"):  # a theme prints them
            config[name] = without_user(config[name]) if config[name] else config[name]
        for published in self.site.published:
            _warn_of_secrets(published)
        config.theme.dirs.insert(0, str(resources.folder("templates") / "theme"))
        config.extra_css.append(self.site.assets[CHROME][0])
        # Material loads these before its own script; other themes ignore the list
        config.extra["polyfills"] = [
            *config.extra.get("polyfills", []),
            self.site.assets[site.OFFLINE_SEARCH][0],
        ]
        if "tracegen" not in config.markdown_extensions:
            config.markdown_extensions.append("tracegen")
        compared = [of for entry in self.site.entries for of in entry.comparisons]
        self.references = references.references(self.site.published, compared)
        config.mdx_configs["tracegen"] = {"references": self.references}

    def on_pre_build(self, config: MkDocsConfig) -> None:
        """Keep the files of bundles, because MkDocs empties the site folder; with `verify` they are copied again."""
        if not self.config.verify:
            site_files.keep(Path(config.site_dir))

    def on_files(self, files: Files, config: MkDocsConfig) -> None:
        """Add the pages; only the reference page and the list of experiments are in the navigation."""
        for source, page in self.site.pages.items():
            level = InclusionLevel.INCLUDED if page.listed else InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, source, content="", inclusion=level))

    def on_nav(self, nav: Navigation, config: MkDocsConfig, files: Files) -> None:
        """Show a section that holds only a page of ours as that page: MkDocs nests Experiments in Experiments."""
        nav.items = [_unnested(item, self.site) for item in nav.items]

    def on_page_markdown(self, markdown: str, page: Page, config: MkDocsConfig, files: Files) -> None:
        """Set title, summary and template of our pages."""
        ours = self.site.pages.get(page.file.src_uri)
        if ours:
            page.meta.update(
                title=str(escape(ours.title)),  # for themes that do not escape it
                description=str(escape(ours.summary)),
                template="tracegen.html",
                hide=["navigation", "toc"],  # Material: use the whole width
                # Material: search finds current versions only
                search={"exclude": not ours.searched, "boost": ours.boost},
            )

    def on_page_content(self, html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Return title and summary of our pages for search; complete the references of journal pages."""
        ours = self.site.pages.get(page.file.src_uri)
        if ours:
            return output.placeholder(ours)
        html, problems = journal.settle(html, path=page.file.dest_uri, source=page.file.content_string)
        for problem in problems:
            log.warning(f"{page.file.src_uri}:{problem.line}: unknown reference {problem.literal}: {problem.reason}")
        self._warn_of_claims(page.file, config)
        if page.file.dest_uri == home.FRONT:
            return home.marked(html) if self.config.home else html
        path, title = page.file.dest_uri, str(page.title or page.file.name)
        entry = home.journal_entry(path, page.file.src_uri.removesuffix(".md"), title, page.meta, html)
        if entry:
            self.entries[path] = entry
        return html

    def _warn_of_claims(self, file: File, config: MkDocsConfig) -> None:
        """Warn of a sentence that says which of two versions is faster, where their comparison does not show it."""
        if file.content_string.count("@v") < 2:
            return
        from tracegen.site.thesis.claims import claims  # comparing takes longer to import than most sites to build
        from tracegen.site.thesis.documents import of_markdown

        written = of_markdown(Path(file.src_uri), file.content_string)
        for claim in claims(self.references, written, _root(config) / self.config.experiments_dir):
            log.warning(f"{claim.place}: {claim.state}: {claim.written}: {claim.why}")

    def on_env(self, env: Environment, config: MkDocsConfig, files: Files) -> None:
        """Keep compiled templates of the theme: compiling takes a tenth of the build of 500 pages."""
        if env.bytecode_cache is None:
            folder = _root(config) / resources.LOCAL / "cache" / f"templates-{version('jinja2')}"
            folder.mkdir(parents=True, exist_ok=True)
            env.bytecode_cache = FileSystemBytecodeCache(str(folder))

    @event_priority(-100)  # after every plugin that rewrites pages: bodies stay byte for byte
    def on_post_page(self, output: str, page: Page, config: MkDocsConfig) -> str:
        """Replace the placeholder with the published body, and name the theme's search dialog."""
        ours = self.site.pages.get(page.file.src_uri)
        return site_search.named(compose(self.site, ours, output) if ours else output)

    @event_priority(-100)  # after the search plugin has written its index
    def on_post_build(self, config: MkDocsConfig) -> None:
        """Copy figures, data and assets of the bundles, and write the search index as a script too."""
        for problem in (*self.site.problems, *self.site.not_compared):
            log.warning(problem)
        front = Path(config.site_dir) / home.FRONT
        if self.config.home and front.is_file():
            html = front.read_text(encoding="utf-8")
            whole = home.completed(html, self.site, self.entries.values(), self.references.dark)
            front.write_text(whole, encoding="utf-8")
        more = {**self.references.dark, **output.forwards(self.site.published)}
        output.write_files(self.site, Path(config.site_dir), more)
        self.site.drawing.close()

    def on_build_error(self, error: Exception) -> None:
        """Stop drawing drafts."""
        if hasattr(self, "site"):
            self.site.drawing.close()

    def on_serve(self, server: LiveReloadServer, config: MkDocsConfig, builder: Callable[..., None]) -> None:
        """Watch runs, settings, ledgers and templates beside the journal; refuse requests that nobody means."""
        guard(server)
        for folder in (_root(config) / self.config.experiments_dir, resources.folder("templates")):
            if folder.is_dir():
                watch_whole(server, folder)


class WholeFolders(FileSystemEventHandler):  # type: ignore[misc]  # watchdog is not followed
    """Passes on events below `folder`, except those inside a folder that is still being written."""

    def __init__(self, folder: Path, inner: FileSystemEventHandler) -> None:
        """Pass on to `inner`."""
        self._folder, self._inner = folder, inner

    def dispatch(self, event: FileSystemEvent) -> None:
        """Pass the event on unless all its paths are unfinished; so the rename that ends the writing passes."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        if not all(is_part(path.relative_to(self._folder)) for path in paths):
            self._inner.dispatch(event)


def _warn_of_secrets(published: Published) -> None:
    """Say loudly that a version holds what looks like a secret; of a withdrawn one, as a note: nothing mends it."""
    secrets = exposed(published.bundle)
    if not secrets:
        return
    version = published.version
    names = printable(", ".join(secrets))
    if version.status == "withdrawn":
        log.info(f"{version.citation} (withdrawn) holds what looks like secrets: {names}")
        return
    log.warning(
        f"SECRETS: {version.citation} shows what looks like secrets: {names}. Revoke them; "
        f'`tracegen publish {version.experiment} --withdraw {version.number} -m "why"` says what else is to be done'
    )


def watch_whole(server: LiveReloadServer, folder: Path) -> None:
    """`server.watch(folder)` that ignores folders that are still being written (`parts.new_folder`)."""
    folder, observer = folder.resolve(), server.observer

    class Filtered:
        @staticmethod
        def schedule(handler: FileSystemEventHandler, path: str, *, recursive: bool) -> object:
            return observer.schedule(WholeFolders(folder, handler), path, recursive=recursive)

    server.observer = Filtered  # MkDocs makes its handler inside watch() and offers no filter
    try:
        server.watch(str(folder))
    finally:
        server.observer = observer


def _unnested(item: StructureItem, shown: site.Site) -> StructureItem:
    """The page of ours that is alone in this section; any other item as it is."""
    if isinstance(item, Section) and len(item.children) == 1:
        (page,) = item.children
        if isinstance(page, Page) and page.file.src_uri in shown.pages:
            page.parent = None
            return page
    return item


def _refuse_collisions(shown: site.Site, journal_folder: Path) -> None:
    for source in shown.pages:
        if (journal_folder / source).exists():
            raise SettingsError(f"{journal_folder / source}: tracegen makes this page; rename the file")


def _root(config: MkDocsConfig) -> Path:
    """The folder of the project; `tracegen build` may have written mkdocs.yml into a folder below it."""
    folder = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
    return folder.parent if folder.name == resources.LOCAL.name else folder
