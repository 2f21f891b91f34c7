"""A bundle: a report as a folder that opens without a site, lists all its files, and never changes.

    experiments/NAME/versions/3/
        version.json            pages, figures, values; size and sha256 of every other file
        index.html              the overview; a complete page that needs no file from outside
        file/index.html …       the other pages
        figures/ data/          drawings and tables
        assets/NAME.HASH.ext    its own CSS and JS, named by their content
        citation.bib .json      how to cite it (BibTeX, CSL-JSON)

A draft has the same form without the citation files. Two marks enclose the body of
a page, so that the site can copy it unchanged.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from tracegen.contract import shapes
from tracegen.contract.errors import StoreError
from tracegen.contract.text import ended, printable
from tracegen.publishing import citation
from tracegen.report.document.page import EXPLORED, EXPLORERS, Page, Report
from tracegen.storing import resources, store
from tracegen.storing.hashes import HashCache

if TYPE_CHECKING:
    from jinja2 import Environment

SCHEMA = 1
VERSION_FILE = "version.json"
BODY_BEGIN = b"<!-- tracegen:body -->\n"
BODY_END = b"\n<!-- /tracegen:body -->"
CHROME = "chrome.css"  # of the page around a body: header, banner, lists
SPDX = "https://spdx.org/licenses/"
_PAGE = {shapes.NEEDED: ("key", "title", "summary"), "key": str, "title": str, "summary": str}
_FIGURE = {
    shapes.NEEDED: ("key", "title", "caption", "alt", "page", "path_svg", "layouts"),
    "key": str,
    "title": str,
    "caption": str,
    "alt": str,
    "page": str,
    "path_svg": str,
    "layouts": {shapes.ANY: str},
}
SHAPE: Mapping[str, Any] = {
    shapes.NEEDED: ("pages", "figures", "values", "assets", "manifest"),
    "citation": shapes.TEXT,
    "experiment": shapes.TEXT,
    "version": shapes.COUNT,
    "created": shapes.TEXT,
    "message": shapes.TEXT,
    "runs": [int],
    "verdict": shapes.TEXT,
    "question": shapes.TEXT,
    "title": str,
    "generator": shapes.TEXT,
    "finding": shapes.TEXT,
    "author": shapes.TEXT,
    "url": shapes.TEXT,
    "licence": shapes.TEXT,
    "packages": {shapes.ANY: str},
    "pages": [_PAGE],
    "figures": [_FIGURE],
    "values": {shapes.ANY: {shapes.NEEDED: ("text",), "unit": shapes.TEXT, "text": shapes.TEXT}},
    "cell": {shapes.NEEDED: ("matrix", "factors"), "matrix": str, "factors": {shapes.ANY: str}},
    "assets": {shapes.ANY: str},
    "manifest": shapes.MANIFEST,
}


@dataclass(frozen=True)
class Bundle:
    """A bundle on disk: its folder and the content of `version.json`."""

    folder: Path
    document: Mapping[str, Any]

    @property
    def pages(self) -> list[Mapping[str, str]]:
        """key, title, summary and path of each page, the overview first."""
        return list(self.document["pages"])

    @property
    def cell(self) -> Mapping[str, Any]:
        """The matrix and the factors of its run; empty outside of a matrix, or where they are private."""
        return dict(self.document.get("cell", {}))

    def file(self, path: str) -> Path:
        """A file that the manifest lists. Raises StoreError when it is missing or has changed."""
        return store.published_file(self.folder, path, self.document["manifest"])

    def body(self, path: str) -> bytes:
        """The body of the page at `path`, byte for byte as published."""
        content = (self.folder / path).read_bytes()
        begin, end = content.find(BODY_BEGIN), content.rfind(BODY_END)
        if begin < 0 or end < begin:
            raise StoreError(f"{self.folder / path}: the marks around the body are missing; restore it from a copy")
        return content[begin + len(BODY_BEGIN) : end]


def write_bundle(folder: Path, report: Report, identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write the report into an empty folder and return its `version.json`.

    `identity` holds citation, experiment, created, message, runs, verdict and
    question, and author and url where they are known. Raises StoreError when the
    report is not consistent, for example when two files have one name.
    """
    contents = _contents(report, identity)
    document = {
        "schema": SCHEMA,
        **identity,
        "title": report.title,
        "generator": f"tracegen {resources.package_version()}",
        "pages": [page.described for page in report.pages],
        "figures": [asdict(figure) for figure in report.figures],
        **({"finding": report.finding} if report.finding else {}),
        "values": {name: dict(value) for name, value in sorted(report.values.items())},
        "assets": _asset_paths(report),
        "manifest": {
            name: {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(contents.items())
        },
    }
    contents[VERSION_FILE] = as_json(document)
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return document


def write_comparison(folder: Path, report: Report, message: str = "", **more: object) -> None:
    """Write the report of a comparison, which is of no experiment and cannot be cited, as a new folder.

    `more`: further entries of its `version.json`.
    """
    identity = {
        "citation": "",
        "draft": report.title,
        "experiment": "",
        "created": "",
        "message": message,
        "runs": [],
        "verdict": "",
        "question": report.title,
        **more,
    }
    with store.whole_folder(folder) as beside:
        write_bundle(beside, report, identity)


def read_bundle(folder: Path, sha256: str | None = None) -> Bundle:
    """Read a bundle's `version.json`. Raises StoreError when it is damaged, or its hash is not `sha256`."""
    path = folder / VERSION_FILE
    if sha256 is not None and path.is_file() and store.sha256_of(path) != sha256:
        raise StoreError(f"{path}: has changed since it was published (see the ledger); restore it from a copy")
    document = store.read_json(path, SCHEMA, SHAPE)
    for page in document["pages"]:
        if not isinstance(page.get("path"), str) or page["path"] not in document["manifest"]:
            raise StoreError(f"{path}: lists a page {page.get('path')!r} without a file; restore it from a copy")
    drawn = [(f["path_svg"], *f["layouts"].values()) for f in document["figures"]]
    for named in (*document["assets"].values(), *(name for names in drawn for name in names)):
        if named not in document["manifest"]:
            raise StoreError(f"{path}: names {named!r}, which is none of its files; restore it from a copy")
    return Bundle(folder, document)


def verify_bundle(bundle: Bundle, hashes: HashCache) -> None:
    """Raise StoreError for the first file of the bundle that is missing, changed or not listed."""
    states = files_below(bundle.folder)
    states.pop(VERSION_FILE, None)
    for name, entry in bundle.document["manifest"].items():
        path = bundle.folder / name
        state = states.pop(name, None)
        if state is None:
            raise StoreError(f"{path}: was published and is missing; restore it from a copy")
        if state.st_size != entry["size_bytes"] or hashes.sha256(path, state) != entry["sha256"]:
            raise StoreError(f"{path}: has changed since it was published; restore it from a copy")
    if states:
        raise StoreError(f"{bundle.folder / min(states)}: was not published with this version; move it elsewhere")


def files_below(folder: Path) -> dict[str, os.stat_result]:
    """All files below a folder: relative path -> its stat result."""
    states: dict[str, os.stat_result] = {}
    waiting = [(folder, "")]
    while waiting:
        place, prefix = waiting.pop()
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), f"{prefix}{entry.name}/"))
                else:
                    states[prefix + entry.name] = entry.stat()
    return states


def shells() -> Environment:
    """The templates of the page around a body; they print text without control characters."""
    environment = resources.templates("site")
    environment.finalize = _shown
    environment.filters["ended"] = ended
    return environment


def _shown(value: object) -> object:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def own(name: str) -> bytes:
    """The content of a file of the site's templates."""
    return (resources.folder("templates") / "site" / name).read_bytes()


def hashed_name(name: str, content: bytes) -> str:
    """`tracegen.css` with its content's hash: `tracegen.0f3a….css`."""
    path = PurePosixPath(name)
    return f"{path.stem}.{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"


def _asset_paths(report: Report) -> dict[str, str]:
    assets = {**report.assets, CHROME: own(CHROME)}
    return {name: f"assets/{hashed_name(name, content)}" for name, content in sorted(assets.items())}


def loading(assets: Mapping[str, str], prefix: str, page: str = "") -> dict[str, list[str]]:
    """The stylesheets and scripts that the head of a page with this key loads."""
    paths = [prefix + path for name, path in assets.items() if name != EXPLORERS or page in EXPLORED]
    return {
        "styles": [path for path in paths if path.endswith(".css")],
        "scripts": [path for path in paths if path.endswith(".js")],
    }


def _contents(report: Report, identity: Mapping[str, Any]) -> dict[str, bytes]:
    """Every file of the bundle but `version.json`."""
    contents: dict[str, bytes] = {}

    def add(name: str, content: bytes) -> None:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or name == VERSION_FILE or "\\" in name:
            raise StoreError(f"the report names a file {name!r}, which cannot stand in a bundle")
        if name in contents:
            raise StoreError(f"the report has two files named {name!r}")
        contents[name] = content

    if not report.pages or report.pages[0].key != "overview":
        raise StoreError("the report has no overview as its first page")
    for page in report.pages:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", page.key) or page.key in ("assets", "data", "figures"):
            raise StoreError(f"the report has a page with the key {page.key!r}, which cannot be a folder's name")
        add(page.path, _standalone(page, report, identity))
    for name, content in report.files.items():
        add(name, content)
    paths = _asset_paths(report)
    for name, content in {**report.assets, CHROME: own(CHROME)}.items():
        add(paths[name], content)
    for figure in report.figures:
        if figure.path_svg not in contents:
            raise StoreError(f"the report's figure {figure.key!r} names {figure.path_svg!r}, which it does not hold")
    if identity.get("citation"):
        cited = {**identity, "content": citation.content_hash(contents)}
        title = citation.title_of(report.title, identity)
        add("citation.bib", citation.bibtex(title, cited).encode())
        add("citation.json", as_json(citation.csl(title, cited)))
    return contents


def _standalone(page: Page, report: Report, identity: Mapping[str, Any]) -> bytes:
    body = page.body.encode()
    if BODY_BEGIN.strip() in body or BODY_END.strip() in body:
        raise StoreError(f"the body of page {page.key!r} contains a body mark; it was not escaped")
    shell = shells().get_template("bundle_page.html")
    text = shell.render(
        page=page,
        pages=report.pages,
        report=report,
        identity=identity,
        loading=loading(_asset_paths(report), page.up, page.key),
        json_ld=Markup(_json_ld(page, report, identity)),
        mark="@BODY@",
    )
    before, _, after = text.partition("<!-- @BODY@ -->")
    return before.encode() + BODY_BEGIN + body + BODY_END + after.encode()


def as_json(document: object) -> bytes:
    """A file of JSON."""
    return store.as_json(document).encode()


def _json_ld(page: Page, report: Report, identity: Mapping[str, Any]) -> str:
    """The description of the page in JSON-LD (schema.org), safe inside <script>."""
    document = {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": printable(report.title),
        "description": printable(page.summary),
        "dateCreated": identity["created"],
        **({"creativeWorkStatus": identity["verdict"]} if identity["verdict"] else {}),
        **({"identifier": identity["citation"], "version": identity["version"]} if identity.get("citation") else {}),
        **({"license": f"{SPDX}{identity['licence']}"} if identity.get("licence") else {}),
    }
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
