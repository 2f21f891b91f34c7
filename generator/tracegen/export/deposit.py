"""What repositories ask of an archive: RO-Crate, CITATION.cff, a SWHID, a licence; made of what a version says."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracegen.contract.facts import Facts
from tracegen.contract.model import Version
from tracegen.contract.text import printable
from tracegen.publishing.bundle import SPDX
from tracegen.storing import resources
from tracegen.storing.native import hooks_version, own_files, read_releases

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2", "https://w3id.org/ro/wfrun/process/0.5"
UPSTREAM = "https://github.com/ggml-org/llama.cpp"
RUN = "data/run.json"
# What lies in a version: path, what it is, its type.
FILES = (
    ("index.html", "the first page; the others are in folders", "text/html"),
    ("figures/", "the figures as SVG, Vega-Lite and PDF", ""),
    ("data/", "their data as CSV", ""),
    ("data/tables/", "the tables that every figure is made of", ""),
    (RUN, "settings, machine, build and checks of the run", "application/json"),
    ("data/values.json", "the published values by name", "application/json"),
    ("citation.bib", "how to cite it", "application/x-bibtex"),
)
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*")  # nothing else that pip understands
NO_LICENCE = "No licence is stated; ask the author."
ABOUT = "What a run of llama.cpp did to memory and disk: pages, figures, tables and the record of the run."


def swhid(contents: Mapping[str, bytes]) -> str:
    """The SWHID of a folder with these files, none of which is executable: path -> bytes."""
    return f"swh:1:dir:{_tree(contents).hex()}"


def _tree(contents: Mapping[str, bytes]) -> bytes:
    """The SHA-1 that git gives a folder."""
    below: dict[str, dict[str, bytes]] = {}
    entries: list[tuple[str, bytes]] = []
    for path, content in contents.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = content
        else:
            entries.append((name, b"100644 %b\0%b" % (name.encode(), _object(b"blob", content))))
    entries += [(f"{name}/", b"40000 %b\0%b" % (name.encode(), _tree(files))) for name, files in below.items()]
    return _object(b"tree", b"".join(line for _, line in sorted(entries, key=lambda entry: entry[0].encode())))


def _object(kind: bytes, content: bytes) -> bytes:
    return hashlib.sha1(b"%b %d\0%b" % (kind, len(content), content), usedforsecurity=False).digest()


def source_of(facts: Facts) -> dict[str, str]:
    """The llama.cpp that ran: its package, version, SHA-256 of the source and hash of the hooks; where recorded."""
    recorded = facts.llama_cpp
    pinned = [each for each in read_releases(resources.folder("native")) if each.version == recorded.version]
    hooked = ((recorded.build or {}).get("build.hooked") or "").partition("hooks = ")[2].partition(",")[0]
    known = {"package": pinned[0].package, "sha256": pinned[0].sha256, "source": pinned[0].source} if pinned else {}
    return {**known, "version": recorded.version or "", "hooks": hooked}


def hooks_of(facts: Facts) -> dict[str, bytes]:
    """What tracegen adds to the source of llama.cpp, by path in it, if it has the hooks that ran; else nothing.

    `llama-cpp.toml` among it says which lines stand where.
    """
    native = resources.folder("native")
    return own_files(native) if source_of(facts)["hooks"] == hooks_version(native) else {}


def pinned(document: Mapping[str, Any]) -> str:
    """The packages of a `version.json` as a file of pip, a line each; empty where they were not recorded."""
    recorded = document.get("packages") or {}
    return "".join(f"{name}=={of}\n" for name, of in recorded.items() if _PACKAGE.fullmatch(f"{name}=={of}"))


@dataclass(frozen=True)
class Deposit:
    """What is known of an archive: the version, what its `version.json` and its run say, and the archive's files.

    `ran`: when the run was recorded; empty where that is not known. `identifier`: the SWHID of the version's folder.
    `contents`: path -> bytes, of what lies in the archive so far.
    """

    version: Version
    document: Mapping[str, Any]
    facts: Facts
    ran: str
    identifier: str
    contents: Mapping[str, bytes]

    @property
    def home(self) -> str:
        """The folder of the version."""
        return f"experiments/{self.version.experiment}/versions/{self.version.number}"

    @property
    def author(self) -> str:
        """Who published it; empty where that is not stated."""
        return printable(str(self.document.get("author") or ""))

    @property
    def licence(self) -> str:
        """The identifier of its licence; empty where none is stated."""
        return str(self.document.get("licence") or "")

    @property
    def title(self) -> str:
        """Its question, and how it is cited."""
        return f"{printable(self.version.title)} ({self.version.citation})"

    def crate(self) -> dict[str, Any]:
        """RO-Crate 1.2 with the profile Process Run Crate 0.5: what was run, on which model, and what it gave."""
        return {"@context": f"{CRATE}/context", "@graph": list(self._entities())}

    def _entities(self) -> Iterator[dict[str, Any]]:
        home, version, licence = f"{self.home}/", self.version, self.licence
        author = {"@id": "#author"} if self.author else None
        known = {f"{home}{name}": (what, kind) for name, what, kind in FILES if kind}
        known["README.md"] = ("what is here, how to check it and to run it again", "text/markdown")
        parts = {path: about for path, about in known.items() if path in self.contents}
        about = {"@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"}}
        yield {**about, "conformsTo": {"@id": CRATE}}
        yield {
            "@id": "./",
            "@type": "Dataset",
            "name": self.title,
            "description": printable(str(self.document.get("finding") or ABOUT)),
            "datePublished": version.created,
            "license": {"@id": f"{SPDX}{licence}"} if licence else NO_LICENCE,
            "identifier": {"@id": "#swhid"},
            "version": str(version.number),
            "conformsTo": {"@id": PROFILE},
            "hasPart": [{"@id": home}, *({"@id": path} for path in parts)],
            "mentions": {"@id": "#run"},
            **({"author": author} if author else {}),
        }
        yield {
            "@id": "#swhid",
            "@type": "PropertyValue",
            "name": "SWHID",
            "propertyID": "SWHID",
            "value": self.identifier,
        }
        own = [{"@id": path} for path in parts if path.startswith(home)]
        yield {"@id": home, "@type": "Dataset", "name": version.citation, "description": ABOUT, "hasPart": own}
        for path, (what, kind) in parts.items():
            entity = {"@id": path, "@type": "File", "name": path.rpartition("/")[2], "description": what}
            yield {**entity, "encodingFormat": kind, "contentSize": str(len(self.contents[path]))}
        yield {"@id": PROFILE, "@type": ["CreativeWork", "Profile"], "name": "Process Run Crate", "version": "0.5"}
        yield {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"The run of {version.citation}",
            "description": "llama.cpp ran the model, and its tracer recorded every operation.",
            **({"endTime": self.ran.replace("Z", "+00:00")} if self.ran else {}),
            "instrument": {"@id": UPSTREAM},
            "object": {"@id": "#model"},
            "result": {"@id": home},
            **({"agent": author} if author else {}),
        }
        yield from self._ran()
        if author:
            yield {**author, "@type": "Person", "name": self.author}
        if licence:
            described = "The licence of this archive, by its identifier in the list of SPDX."
            yield {"@id": f"{SPDX}{licence}", "@type": "CreativeWork", "name": licence, "description": described}

    def _ran(self) -> Iterator[dict[str, Any]]:
        """The program and the model of the run."""
        model, source = self.facts.model, source_of(self.facts)
        yield {
            "@id": UPSTREAM,
            "@type": "SoftwareApplication",
            "name": f"llama.cpp of {source.get('package', 'an unknown package')} with the hooks of tracegen",
            "version": source["version"] or "not recorded",
            "softwareRequirements": printable(str(self.document.get("generator") or "tracegen")),
            "url": UPSTREAM,
        }
        yield {
            "@id": "#model",
            "@type": "CreativeWork",
            "name": printable(model.name or model.file or "a model"),
            "identifier": f"sha256:{printable(str(model.sha256))}",
            "description": "The model that ran; it is not in this archive.",
        }

    def citation(self) -> str:
        """CITATION.cff 1.2.0, which wants an author. Its values are JSON, which YAML can read."""
        url = printable(str(self.document.get("url") or "")).strip()
        fields = {
            "cff-version": "1.2.0",
            "message": "If you use these data, please cite them.",
            "type": "dataset",
            "title": printable(self.version.title),
            "version": str(self.version.number),
            "date-released": self.version.created[:10],
            "authors": [{"name": self.author}],
            **({"url": url} if url else {}),
            **({"license": self.licence} if self.licence else {}),
            "identifiers": [{"type": "swh", "value": self.identifier}],
        }
        return "".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items())

    def terms(self) -> str:
        """The file LICENSE, where a licence is stated."""
        return f"SPDX-License-Identifier: {self.licence}\n\n{SPDX}{self.licence}.html\n"
