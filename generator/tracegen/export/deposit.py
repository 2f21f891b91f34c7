"""What repositories ask of an archive: RO-Crate, Zenodo's metadata, a SWHID, a licence; made of what a version says.

`crate`: RO-Crate 1.2 with the profile Process Run Crate 0.5: what was run, on which model, and what it gave.
`zenodo`: the body of a request to Zenodo's deposit API. `swhid`: the identifier that Software Heritage gives a folder.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from tracegen.contract.model import Version
from tracegen.contract.text import printable
from tracegen.measure.capture.hooked_tree import hooks_version, own_files
from tracegen.measure.capture.llama_cpp import read_releases
from tracegen.publishing.bundle import SPDX
from tracegen.storing import resources

CRATE, PROFILE = "https://w3id.org/ro/crate/1.2", "https://w3id.org/ro/wfrun/process/0.5"
UPSTREAM = "https://github.com/ggml-org/llama.cpp"
README = "What is here, how to check it and to run it again"
FILES = {
    "index.html": "The first page of the version",
    "data/run.json": "Settings, machine, build and checks of the run",
    "data/values.json": "The published values by name",
}
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


def licence(document: Mapping[str, Any]) -> str:
    """The file LICENSE; empty where the version states no licence."""
    stated = document.get("licence")
    return f"SPDX-License-Identifier: {stated}\n\n{SPDX}{stated}.html\n" if stated else ""


def source_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """The llama.cpp that ran: its package, version, SHA-256 of the source and hash of the hooks; where recorded."""
    recorded = facts.get("llama_cpp") or {}
    pinned = [each for each in read_releases(resources.folder("native")) if each.version == recorded.get("version")]
    hooked = str((recorded.get("build") or {}).get("build.hooked") or "").partition("hooks = ")[2].partition(",")[0]
    known = {"package": pinned[0].package, "sha256": pinned[0].sha256, "source": pinned[0].source} if pinned else {}
    return {**known, "version": str(recorded.get("version") or ""), "hooks": hooked}


def hooks_of(facts: Mapping[str, Any]) -> dict[str, bytes]:
    """What tracegen adds to the source of llama.cpp, by path in it, if it has the hooks that ran; else nothing.

    `llama-cpp.toml` among it says which lines stand where.
    """
    native = resources.folder("native")
    return own_files(native) if source_of(facts)["hooks"] == hooks_version(native) else {}


def zenodo(version: Version, document: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    """The metadata of a deposit."""
    author, stated = document.get("author"), document.get("licence")
    described = " ".join(printable(str(text)) for text in (document.get("finding"), ABOUT) if text)
    related = [{"identifier": identifier, "relation": "hasPart", "resource_type": "dataset"}]
    if document.get("url"):
        related.append({"identifier": str(document["url"]), "relation": "isDerivedFrom", "resource_type": "dataset"})
    return {
        "metadata": {
            "upload_type": "dataset",
            "title": f"{printable(version.title)} ({version.citation})",
            "creators": [{"name": printable(str(author))}],
            "description": described,
            "version": str(version.number),
            "publication_date": version.created[:10],
            "access_right": "open",
            **({"license": str(stated).lower()} if stated else {}),
            "keywords": ["llama.cpp", "memory access", "tracegen"],
            "related_identifiers": related,
        }
    }


def crate(
    version: Version,
    document: Mapping[str, Any],
    facts: Mapping[str, Any],
    identifier: str,
    ran: str,
    contents: Mapping[str, bytes],
    home: str,
) -> dict[str, Any]:
    """`ro-crate-metadata.json`, of an archive with these files; `home` is the folder of the version.

    `ran`: when the run was recorded; empty where that is not known.
    """
    return {
        "@context": f"{CRATE}/context",
        "@graph": list(_entities(version, document, facts, identifier, ran, contents, f"{home}/")),
    }


def _entities(
    version: Version,
    document: Mapping[str, Any],
    facts: Mapping[str, Any],
    identifier: str,
    ran: str,
    contents: Mapping[str, bytes],
    home: str,
) -> Iterator[dict[str, Any]]:
    model, source = facts.get("model") or {}, source_of(facts)
    author, stated = document.get("author"), document.get("licence")
    inside = {f"{home}{name}": what for name, what in FILES.items()}
    parts = {name: what for name, what in {"README.md": README, **inside}.items() if name in contents}
    of_person = {"author": {"@id": "#author"}} if author else {}
    yield {
        "@id": "ro-crate-metadata.json",
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": CRATE},
    }
    yield {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{printable(version.title)} ({version.citation})",
        "description": printable(str(document.get("finding") or ABOUT)),
        "datePublished": version.created,
        "license": {"@id": f"{SPDX}{stated}"} if stated else NO_LICENCE,
        "identifier": {"@id": "#swhid"},
        "version": str(version.number),
        "conformsTo": {"@id": PROFILE},
        "hasPart": [{"@id": home}, *({"@id": path} for path in parts)],
        "mentions": {"@id": "#run"},
        **of_person,
    }
    yield {"@id": "#swhid", "@type": "PropertyValue", "name": "SWHID", "propertyID": "SWHID", "value": identifier}
    own = [{"@id": path} for path in parts if path.startswith(home)]
    yield {"@id": home, "@type": "Dataset", "name": version.citation, "description": ABOUT, "hasPart": own}
    for path, what in parts.items():
        kind = {"md": "text/markdown", "html": "text/html", "json": "application/json"}[path.rpartition(".")[2]]
        name, size = path.rpartition("/")[2], str(len(contents[path]))
        entity = {"@id": path, "@type": "File", "name": name, "description": what}
        yield {**entity, "encodingFormat": kind, "contentSize": size}
    yield {"@id": PROFILE, "@type": ["CreativeWork", "Profile"], "name": "Process Run Crate", "version": "0.5"}
    yield {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"The run of {version.citation}",
        "description": "llama.cpp ran the model, and its tracer recorded every operation.",
        **({"endTime": ran.replace("Z", "+00:00")} if ran else {}),
        "instrument": {"@id": UPSTREAM},
        "object": {"@id": "#model"},
        "result": {"@id": home},
        **({"agent": {"@id": "#author"}} if author else {}),
    }
    yield {
        "@id": UPSTREAM,
        "@type": "SoftwareApplication",
        "name": f"llama.cpp of {source.get('package', 'an unknown package')} with the hooks of tracegen",
        "version": source["version"] or "not recorded",
        "softwareRequirements": printable(str(document.get("generator") or "tracegen")),
        "url": UPSTREAM,
    }
    yield {
        "@id": "#model",
        "@type": "CreativeWork",
        "name": printable(str(model.get("name") or model.get("file") or "a model")),
        "identifier": f"sha256:{printable(str(model.get('sha256')))}",
        "description": "The model that ran; it is not in this archive.",
    }
    if author:
        yield {"@id": "#author", "@type": "Person", "name": printable(str(author))}
    if stated:
        described = "The licence of this archive, by its identifier in the list of SPDX."
        yield {"@id": f"{SPDX}{stated}", "@type": "CreativeWork", "name": str(stated), "description": described}
