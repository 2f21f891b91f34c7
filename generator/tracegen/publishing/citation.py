"""How a version is cited: BibTeX and CSL-JSON, with author, address and licence where mkdocs.yml has them.

`site_author` (or `author` below `extra`), `site_url` and `licence` below `extra` are read when a version is published;
the licence is an identifier of SPDX (https://spdx.org/licenses), such as CC-BY-4.0. The hash is that of the list of all
other files of the version, so whoever has the files can compute it:

    find * -type f ! -name version.json ! -name 'citation.*' | LC_ALL=C sort | xargs sha256sum | sha256sum
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tracegen.contract import documents
from tracegen.contract.credentials import without_user
from tracegen.contract.errors import SettingsError
from tracegen.contract.model import cell_name
from tracegen.contract.text import printable

_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {"{": r"\textbraceleft{}", "}": r"\textbraceright{}"}  # BibTeX counts braces, also behind a backslash
_LATEX |= {sign: f"\\{sign}" for sign in "$&#_%"}
LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,63}")
# What lies outside of an entry is a comment for BibTeX; cite.js writes the same line.
NO_ADDRESS = "% No url: set site_url in mkdocs.yml before a version is published.\n"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def site_facts(config: Path, version_path: str) -> dict[str, str]:
    """`author`, `url` and `licence` of a version from the settings of its site; each only where it is set.

    `version_path` is the path of the version below the site: `experiments/sample/v1`. Raises SettingsError for settings
    that cannot be read, and for a licence that is not an identifier.
    """
    if not config.is_file():
        return {}
    settings = _read(config)
    below = settings.get("extra")
    extra: Mapping[str, Any] = below if isinstance(below, Mapping) else {}
    author = settings.get("site_author") or extra.get("author")
    facts = {"author": " ".join(printable(author).split())} if isinstance(author, str) and author.strip() else {}
    site = settings.get("site_url")
    if isinstance(site, str) and is_web_address(site.strip()):
        facts["url"] = f"{printable(without_user(site.strip())).rstrip('/')}/{quote(version_path)}/index.html"
    licence = extra.get("licence")
    if licence is not None:
        if not isinstance(licence, str) or not LICENCE.fullmatch(licence):
            raise SettingsError(f"{config}: extra: licence: is not an SPDX identifier; write one such as CC-BY-4.0")
        facts["licence"] = licence
    return facts


def is_web_address(text: str) -> bool:
    """Whether a browser may follow it, and a line of a file hold it."""
    try:
        return urlsplit(text).scheme in ("http", "https") and text.isprintable() and " " not in text
    except ValueError:  # an address of IPv6 that is none
        return False


def _read(config: Path) -> Mapping[str, Any]:
    import yaml  # type: ignore[import-untyped]  # loads slowly, and only publishing needs it

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Reads values of unknown tags, such as !ENV, as null."""

    Loader.add_multi_constructor("", lambda *_: None)
    try:
        settings = yaml.load(documents.content(config, documents.MOST_TOML, SettingsError), Loader)  # a SafeLoader
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise SettingsError(f"{config}: cannot be read: {error}; correct the file") from error
    return settings if isinstance(settings, Mapping) else {}


def content_hash(contents: Mapping[str, bytes]) -> str:
    """SHA-256 over the lines `HASH  PATH` of all files, sorted by path."""
    return _hash_of({name: hashlib.sha256(content).hexdigest() for name, content in contents.items()})


def hash_of_manifest(manifest: Mapping[str, Mapping[str, Any]]) -> str:
    """The same of a published version, by the list of its files: of all but the citations, which have it."""
    return _hash_of({name: str(file["sha256"]) for name, file in manifest.items() if not name.startswith("citation.")})


def _hash_of(hashes: Mapping[str, str]) -> str:
    lines = (f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def title_of(question: str, identity: Mapping[str, Any]) -> str:
    """What a version is cited as: its question, and the cell of a matrix that it is."""
    cell = cell_name(identity.get("cell", {}).get("factors", {}))
    return f"{question} ({cell})" if cell else question


def bibtex(title: str, identity: Mapping[str, Any]) -> str:
    """The BibTeX entry of a version; `identity` as `write_bundle` has it, with the hash of its content."""
    year, month = str(identity["created"])[:4], _MONTHS[int(str(identity["created"])[5:7]) - 1]
    runs = ", ".join(f"{number:03d}" for number in identity["runs"])
    author = f"  author = {{{{{_latex(identity['author'])}}}}},\n" if identity.get("author") else ""
    if not author:  # BibTeX sorts by the key of an entry without an author
        author = f"  key = {{{_latex(identity['citation'])}}},\n"
    url = f"  url = {{{_in_url(identity['url'])}}},\n" if identity.get("url") else ""
    hint = "" if url else NO_ADDRESS
    return (
        f"{hint}@misc{{{str(identity['citation']).replace('@', '-')},\n"
        f"{author}"
        f"  title = {{{{{_latex(title)}}}}},\n"
        f"  year = {{{year}}},\n"
        f"  month = {month},\n"
        f"  date = {{{str(identity['created'])[:10]}}},\n"
        f"  version = {{{identity['version']}}},\n"
        f"  howpublished = {{tracegen report {_latex(identity['citation'])}}},\n"
        f"{url}"
        f"  note = {{run {runs}; verdict: {identity['verdict']}; SHA-256 of the content: {identity['content']}}},\n"
        "}\n"
    )


def _latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def _in_url(url: str) -> str:
    """The URL without signs that end a BibTeX field."""
    return quote(url, safe=":/?#@!$&'()*+,;=%~-._")


def csl(title: str, identity: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The CSL-JSON entry of a version; `identity` as in `bibtex`."""
    date = [int(part) for part in str(identity["created"])[:10].split("-")]
    author = {"author": [{"literal": identity["author"]}]} if identity.get("author") else {}
    return [
        {
            "id": identity["citation"],
            "type": "dataset",
            "title": title,
            **author,
            "version": str(identity["version"]),
            "number": identity["citation"],
            "genre": "tracegen report",
            "issued": {"date-parts": [date]},
            **({"URL": identity["url"]} if identity.get("url") else {}),
            **({"license": identity["licence"]} if identity.get("licence") else {}),
            "note": f"SHA-256 of the content: {identity['content']}",
        }
    ]
