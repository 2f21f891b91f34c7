"""`archive`: a version as one file to deposit: a small project that can be opened, checked, built and run again.

The same version gives the same bytes on every machine: nothing in the file is compressed, and its times are fixed.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracegen.contract import quantities as q
from tracegen.contract.address import name_problem
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.facts import Facts
from tracegen.contract.model import Check
from tracegen.contract.text import ended, visible
from tracegen.export import deposit
from tracegen.export.deposit import FILES, RUN, Deposit
from tracegen.export.format import Format, Source
from tracegen.publishing import versions
from tracegen.publishing.bundle import VERSION_FILE, as_json, read_bundle
from tracegen.publishing.citation import title_of
from tracegen.report.document import markdown as md
from tracegen.storing.store import is_number, verify_manifest

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a ZIP file can hold
SITE = """site_name: {name}
docs_dir: journal
site_dir: site
use_directory_urls: false
theme:
  name: material
  font: false
plugins: [search, tracegen]
"""


def _write(source: Source, folder: Path) -> None:
    """Raises SettingsError for a run, and StoreError for a version that is not as it was published."""
    if not (source.folder / VERSION_FILE).is_file():
        raise SettingsError(f"{source.name}: is a run; an archive holds a version: publish it, and export NAME@vN")
    of = source.folder.resolve()
    experiment, number = of.parent.parent, int(of.name) if is_number(of.name) else 0
    entry = versions.read_ledger(experiment).get(number)
    if entry is None or of.parent.name != "versions":
        raise SettingsError(f"{of}: {experiment / versions.LEDGER_FILE} does not list it; restore the ledger")
    bundle = read_bundle(of, str(entry["sha256"]))
    version = versions.version_of(bundle)
    if (version.experiment, version.number) != (experiment.name, number) or name_problem(experiment.name):
        raise StoreError(f"{of}: says that it is {visible(version.citation)}; give its folders the names that they had")
    manifest = bundle.document["manifest"]
    verify_manifest(of, manifest, (VERSION_FILE,))
    if odd := [name for name in manifest if visible(name) != name or "\\" in name]:
        raise StoreError(f"{of}: the manifest names {visible(odd[0])!r}; restore the manifest from a copy")
    withdrawn = versions.read_withdrawn(experiment).get(number)
    home = f"experiments/{experiment.name}"
    kept = {name: (of / name).read_bytes() for name in (*manifest, VERSION_FILE)}
    contents = {f"{home}/versions/{number}/{name}": content for name, content in kept.items()}
    contents[f"{home}/{versions.LEDGER_FILE}"] = as_json(
        {"schema": versions.SCHEMA, "experiment": experiment.name, "versions": [entry]}
    )
    if withdrawn:  # its successor is not in the archive
        status = {"schema": versions.SCHEMA, "withdrawn": {str(number): {**withdrawn, "successor": None}}}
        contents[f"{home}/{versions.STATUS_FILE}"] = as_json(status)
    contents["mkdocs.yml"] = SITE.format(name=json.dumps(version.citation)).encode()
    contents["journal/index.md"] = f"# {version.citation}\n\n[[{version.citation}]]\n".encode()
    document, facts = bundle.document, source.run.facts
    version = replace(version, title=title_of(version.title, document))
    if withdrawn:
        finding = f"WITHDRAWN: {ended(str(withdrawn['reason']))} {document.get('finding') or ''}".strip()
        document = {**document, "finding": finding}
    contents |= {f"llama-cpp/{name}": content for name, content in deposit.hooks_of(facts).items()}
    if source.claims:
        contents["claims.json"] = as_json({"version": version.citation, "claims": list(source.claims)})
    ran = json.loads(kept[RUN])["created"] if RUN in kept else ""
    if pinned := deposit.pinned(document):
        contents["requirements.txt"] = pinned.encode()
    known = Deposit(version, document, facts, str(ran), deposit.swhid(kept), contents)
    if known.author:
        contents["CITATION.cff"] = known.citation().encode()
    if known.licence:
        contents["LICENSE"] = known.terms().encode()
    contents["README.md"] = _readme(known, source.run.checks, withdrawn=bool(withdrawn)).encode()
    contents["ro-crate-metadata.json"] = as_json(known.crate())
    sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    contents["SHA256SUMS"] = "".join(sums).encode()
    with zipfile.ZipFile(folder / f"{source.stem}.zip", "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(contents.items()):
            entry_of = zipfile.ZipInfo(f"{version.citation.replace('@', '-')}/{name}", EPOCH)
            entry_of.create_system, entry_of.external_attr = 3, 0o100644 << 16  # as on Unix: a file that all may read
            archive.writestr(entry_of, content)


def _readme(known: Deposit, checks: Sequence[Check], *, withdrawn: bool) -> str:
    """What is here, as Markdown in which no word of a run is markup."""
    version, document, home = known.version, known.document, known.home
    paragraphs = [str(document.get("question") or version.title), str(document.get("finding") or "")]
    if withdrawn:
        paragraphs.reverse()
    terms = f"Licence: {known.licence}." if known.licence else deposit.NO_LICENCE
    paragraphs.append(f"{f'By {known.author}. ' if known.author else ''}Published {version.created[:10]}. {terms}")
    noted = [f"{check.title}: {check.found}" for check in checks if check.state in ("warning", "failed")]
    paragraphs.append(f"Verdict: {version.verdict}{': ' if noted else ''}{'; '.join(noted)}.")
    lines = "".join(f"{md.prose(words)}\n\n" for words in paragraphs if words)
    rows = "".join(f"| {what} | {words} |\n" for what, words in _recorded_of(known.facts))
    files = "".join(f"| `{name}` | {words} |\n" for name, words, _ in FILES if _holds(document, name))
    beside = "".join(
        f"- `{name}`: {words}\n" for name, words in BESIDE if any(at.startswith(name) for at in known.contents)
    )
    return f"""# {version.citation}

{lines}How to cite it: `{home}/citation.bib`.

| | |
|---|---|
{rows}
## Look

Open `{home}/index.html` in a browser. It needs no server and no network.

## Check

    sha256sum -c SHA256SUMS

Software Heritage's identifier of the folder of the version is `{known.identifier}`.

## Build and run again

With {md.prose(str(document.get("generator") or "tracegen"))} or a later one installed, in this folder:

    tracegen build    # a site of this version
    tracegen reproduce {version.citation}    # runs it again, and says whether it came out the same

`reproduce` builds llama.cpp, looks for the model by its SHA-256, and judges: counted measures must be equal, times are
judged by a test where there are enough runs on one machine. On another machine it says what differs.

## What lies beside the version

{beside}- `ro-crate-metadata.json`: what was run on which model, and what it gave (RO-Crate 1.2)

The scripts and styles of the pages, and `llama-cpp/` if it is here, are parts of tracegen, under the MIT licence.

## What the version holds, below `{home}`

| Path | Holds |
|---|---|
{files}"""


BESIDE = (
    ("claims.json", "each measure, its value, and the command that judges it"),
    ("requirements.txt", "the versions of the Python packages that were installed when it was published, for pip"),
    ("llama-cpp/", "what tracegen adds to the source of llama.cpp; its llama-cpp.toml says which lines stand where"),
    ("CITATION.cff", "how to cite it"),
    ("LICENSE", "the licence of what was measured and written"),
)


def _holds(document: Mapping[str, Any], path: str) -> bool:
    return any(name == path or (path.endswith("/") and name.startswith(path)) for name in document["manifest"])


def _recorded_of(facts: Facts) -> Iterator[tuple[str, str]]:
    """What ran on what, as far as it was recorded: what, words."""
    model, host = facts.model, facts.host
    if model.sha256:
        named = md.prose(model.name or model.file or "of unknown name")
        yield "Model, not in this archive", f"{named}, SHA-256 {md.prose(model.sha256)}"
    if facts.llama_cpp.version:
        source = deposit.source_of(facts)
        of = f"of llama-cpp-python {md.prose(facts.llama_cpp.version)}"
        exact = f" (source distribution with SHA-256 {source['sha256']})" if "sha256" in source else ""
        hooks = f" {md.prose(source['hooks'])}" if source["hooks"] else ""
        yield "llama.cpp", f"{of}{exact}, with the hooks{hooks} of tracegen"
    if host.cpu:
        machine = (host.cpu, q.size(host.memory_bytes), host.kernel or "")
        yield "Machine", md.prose(", ".join(filter(None, machine)))


ARCHIVE = Format(
    "archive",
    "a version as one ZIP file to deposit: pages, data, hashes, and how to run it again",
    _write,
    suffix=".zip",
    whole=True,
)
