"""`archive`: a version as one file to deposit: a small project that can be opened, checked, built and run again.

The same version gives the same bytes on every machine: nothing in the file is compressed, and its times are fixed.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracegen.contract import quantities as q
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import printable
from tracegen.export.format import Format, Source
from tracegen.publishing import versions
from tracegen.publishing.bundle import VERSION_FILE, read_bundle
from tracegen.storing.resources import package_version

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
    """Raises SettingsError for a run, and StoreError when a file of the version is missing or has changed."""
    if not (source.folder / VERSION_FILE).is_file():
        raise SettingsError(f"{source.name}: is a run; an archive holds a version: publish it, and export NAME@vN")
    experiment = source.folder.resolve().parents[1]
    entry = versions.read_ledger(experiment).get(int(source.folder.name))
    if entry is None:
        raise SettingsError(f"{source.name}: {experiment / versions.LEDGER_FILE} does not list it; restore the ledger")
    bundle = read_bundle(source.folder, str(entry["sha256"]))
    home = f"experiments/{experiment.name}"
    ledger = {"schema": versions.SCHEMA, "experiment": experiment.name, "versions": [entry]}
    files = {f"{home}/versions/{source.folder.name}/{path}": bundle.file(path) for path in bundle.document["manifest"]}
    contents = {name: path.read_bytes() for name, path in files.items()}
    contents[f"{home}/versions/{source.folder.name}/{VERSION_FILE}"] = (source.folder / VERSION_FILE).read_bytes()
    contents[f"{home}/{versions.LEDGER_FILE}"] = _json(ledger)
    contents["mkdocs.yml"] = SITE.format(name=json.dumps(source.name)).encode()
    contents["journal/index.md"] = f"# {source.name}\n\n[[{source.name}]]\n".encode()
    contents["README.md"] = _readme(source, bundle.document).encode()
    if bundle.document.get("author"):
        contents["CITATION.cff"] = _citation(bundle.document).encode()
    sums = (f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))
    contents["SHA256SUMS"] = "".join(sums).encode()
    with zipfile.ZipFile(folder / f"{source.stem}.zip", "w", zipfile.ZIP_STORED) as archive:
        for name, content in sorted(contents.items()):
            of = zipfile.ZipInfo(f"{source.stem}/{name}", EPOCH)
            of.create_system, of.external_attr = 3, 0o100644 << 16  # as on Unix: a file that all may read
            archive.writestr(of, content)


def _json(document: object) -> bytes:
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _readme(source: Source, document: Mapping[str, Any]) -> str:
    facts = source.run.facts
    model, build, host = (facts.get(key) or {} for key in ("model", "llama_cpp", "host"))
    experiment, number = str(document["experiment"]), document["version"]
    page = f"experiments/{experiment}/versions/{number}/index.html"
    name = printable(str(model.get("name") or model.get("file") or "a model of unknown name"))
    machine = [str(host.get("cpu") or "a processor that was not recorded"), q.size(host.get("memory_bytes")),
               str(host.get("kernel") or "")]  # fmt: skip
    return f"""# {source.name}

{printable(str(document["question"]))}

{printable(str(document.get("finding") or "It says no finding."))}

Verdict: {document["verdict"]}. Published {str(document["created"])[:10]} by {printable(str(document["generator"]))};
archived by tracegen {package_version()}.

| | |
|---|---|
| Model | {name}, SHA-256 {model.get("sha256") or "not recorded"} (not in this archive) |
| llama.cpp | release {build.get("version") or "not recorded"} of llama-cpp-python, with the hooks of tracegen |
| Machine | {printable(", ".join(filter(None, machine)))} |

## Look

Open `{page}` in a browser. It needs no server and no network.

## Check

    sha256sum -c SHA256SUMS

## Build and run again

With tracegen installed, in this folder:

    tracegen build    # a site of this version
    tracegen reproduce {source.name}    # runs it again, and says whether it came out the same

`reproduce` builds llama.cpp, looks for the model by its SHA-256, and judges: counted measures must be equal, times are
judged by a test. On another machine it says what differs.

## What is here

| Path | Holds |
|---|---|
| `{page.removesuffix("index.html")}` | the pages, figures (SVG, PDF) and tables (CSV, Parquet) |
| `…/data/run.json` | settings, machine, build and checks of the run |
| `…/data/tables/` | the tables that every figure is made of |
| `…/data/values.json` | the published values by name |
| `…/citation.bib` | how to cite it |
"""


def _citation(document: Mapping[str, Any]) -> str:
    """CITATION.cff 1.2.0. Its values are JSON, which YAML can read."""
    fields = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them.",
        "type": "dataset",
        "title": str(document["title"]),
        "version": str(document["version"]),
        "date-released": str(document["created"])[:10],
        "authors": [{"name": str(document["author"])}],
        **({"url": str(document["url"])} if document.get("url") else {}),
    }
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())


ARCHIVE = Format(
    "archive",
    "a version as one ZIP file to deposit: pages, data, hashes, and how to run it again",
    _write,
    suffix=".zip",
    whole=True,
)
