"""What the output of MkDocs becomes: pages with their content, the files of bundles, and a search index for `file://`.

Beside them stand short addresses: `x/HASH/` forwards to a version, on any site that holds it. HASH are the first digits
of the SHA-256 of the content that the citation of a version names.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from markupsafe import escape

from tracegen.contract import documents
from tracegen.contract.address import EXPERIMENTS
from tracegen.contract.errors import StoreError
from tracegen.publishing.bundle import shells
from tracegen.publishing.citation import hash_of_manifest
from tracegen.publishing.versions import Published
from tracegen.site import files, search, vega
from tracegen.site.gather import Site
from tracegen.site.pages import CONTENT, SitePage
from tracegen.site.policy import with_policy

SHORT, DIGITS = "x", 12  # the folder of short addresses, and how many digits of a hash they have
PAGE_BEGIN, PAGE_END = "<!-- tracegen:page -->", "<!-- /tracegen:page -->"
SKIP = f'<a class="tracegen-skip" href="#{CONTENT}">Skip to the content</a>'  # a theme's own needs its headings


def placeholder(page: SitePage) -> str:
    """The title and summary of a page, which search reads; `compose` replaces them with the content."""
    return f"{PAGE_BEGIN}<h1>{escape(page.title)}</h1>\n<p>{escape(page.summary)}</p>{PAGE_END}"


def compose(site: Site, page: SitePage, output: str) -> str:
    """The theme's output with the content of the page, and its policy, stylesheets and scripts in the head."""
    before, begin, rest = output.partition(PAGE_BEGIN)
    _, ended, after = rest.partition(PAGE_END)
    if not begin or not ended:
        raise StoreError(f"{page.path}: the theme shows no page content; use a theme that has {{{{ page.content }}}}")
    content = page.content()
    if not content:
        return ""  # MkDocs writes no empty page
    before = with_policy(before, after)
    before = before.replace("<html", f'<html data-tracegen-vega="{page.root}{site.assets[vega.NAME][0]}"', 1)
    before = before.replace("</head>", f"{page.head(page.root)}</head>", 1)
    before = re.sub(r"<body\b[^>]*>", lambda body: f"{body.group()}\n{SKIP}", before, count=1)
    return before + content + after


def write_files(site: Site, target: Path, more: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Write the files of all bundles into the built site, and `more` by address; make search work on `file://`.

    The pages of drafts that could not be drawn are removed from the search index.
    """
    files.write_files(target, site.bundles)
    for name, content in [*site.assets.values(), *more.items()]:
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for entry in site.entries:
        _unlist(target / EXPERIMENTS / entry.name, entry.not_drawn)
    index = target / "search" / "search_index.json"
    if site.problems and index.is_file():
        missing = {page.path for page in site.pages.values() if not (target / page.path).is_file()}
        found = documents.read_json(index)
        found["docs"] = [doc for doc in found["docs"] if doc["location"].partition("#")[0] not in missing]
        index.write_text(json.dumps(found, separators=(",", ":")), encoding="utf-8")
    if index.is_file():
        search.add_tensors(index, site.searched)
        # a page opened from a folder may load scripts, but no other files
        index.with_suffix(".js").write_bytes(b"var __index = " + index.read_bytes())


def forwards(published: Sequence[Published]) -> Mapping[str, bytes]:
    """The pages at short addresses: path -> page for each version."""
    template = shells().get_template("forward.html")
    pages = {}
    for each in published:
        version = each.version
        digest = hash_of_manifest(each.bundle.document["manifest"])
        there = f"../../{EXPERIMENTS}/{version.experiment}/{version.name}/index.html"
        page = template.render(citation=version.citation, title=version.title, there=there)
        pages[f"{SHORT}/{digest[:DIGITS]}/index.html"] = page.encode()
    return pages


def _unlist(folder: Path, not_drawn: Sequence[str]) -> None:
    """Remove drafts that could not be drawn from the switch of each page: these pages were written before."""
    if not not_drawn:
        return
    lines = re.compile(rf'<li data-folder="(?:{"|".join(map(re.escape, not_drawn))})">.*\n')
    for path in folder.rglob("*.html"):
        path.write_bytes(lines.sub("", path.read_bytes().decode()).encode())
