"""The whole site as files: every link, nothing from outside, nothing private, the same bytes again, bad input."""

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest

from tests.builders import scaled_case
from tests.publishing.test_bundle import files_of
from tests.recompute.published import handed_over
from tests.site_project import (
    NOW,
    PRIVATE_ANSWER,
    PRIVATE_IDS,
    PRIVATE_PROMPT,
    SECRETS,
    Project,
    plain_run,
    private_tables,
    stored,
)
from tracegen.cli import main as cli
from tracegen.cli.commands.build import build_site
from tracegen.publishing.bundle import BODY_BEGIN, BODY_END, read_bundle
from tracegen.publishing.freeze import freeze
from tracegen.report.document.page import OUTLINE
from tracegen.storing import resources

LOADS = {"src", "srcset", "data", "poster", "background", "xlink:href", "formaction", "action", "manifest"}
CSS_LOADS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+(?:url\()?\s*['\"]([^'\"]+)")
SCRIPT_LOADS = re.compile(
    r"\b(?:fetch|import|importScripts|open|Worker|EventSource|WebSocket)\s*\(|\bXMLHttpRequest\b|sendBeacon"
)


class Addresses(HTMLParser):
    """Ids of a page, what it links to, and what it loads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.linked: list[str] = []
        self.loaded: list[str] = []
        self._style = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._style = tag == "style"
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("a", "area") and "href" in given:
            self.linked.append(given["href"])
        elif "href" in given and given.get("rel") not in ("canonical", "prev", "next", "edit"):
            self.loaded.append(given["href"])
        self.loaded += [given[name] for name in LOADS if name in given]
        self.loaded += [a or b for a, b in CSS_LOADS.findall(given.get("style", ""))]
        if tag == "meta" and given.get("name", "").startswith("tracegen-"):
            self.loaded.append(given["content"])
        if given.get("http-equiv", "").lower() == "refresh":
            self.linked.append(given["content"].partition("url=")[2])
            assert not outside(self.linked[-1])

    def handle_data(self, data: str) -> None:
        if self._style:
            self.loaded += [a or b for a, b in CSS_LOADS.findall(data)]


def state_of(page: Path, key: str) -> Any:
    """What the page at this path holds for its script."""
    state = re.search(rf'<script type="application/json" id="tg-{key}">(.*?)</script>', page.read_text())
    assert state
    return json.loads(state[1])


def addressed_ops(operations: Path) -> set[str]:
    """Every `pass=P&node=N` that the operations page at this path can show."""
    document = state_of(operations, "operations")
    found = set()
    for chunk in {p["chunk"] for p in document["passes"] if p["chunk"] is not None}:
        text = (operations.parent / document["data"] / f"{chunk}.js").read_text()
        nodes: list[int] = []
        for one in handed_over(text)[0]:
            nodes = one.get("node", nodes)  # those of the pass before it
            found |= {f"pass={one['id']}&node={node}" for node in nodes} | {f"pass={one['id']}"}
    for p in document["passes"]:
        if p["static"] is not None:
            assert (operations.parent / document["data"] / f"p{p['static']}.js").is_file()
    return found


def addressed_nodes(graph: Path) -> set[str]:
    """Every `gG-nN` that the graph page at this path finds in its drawings."""
    facts = []
    for one in state_of(graph, "graph")["topologies"]:
        facts.append(one["facts"] if "facts" in one else handed_over((graph.parent / one["path"]).read_text())[0])
    return {f"g{graph}-n{node}" for one in facts for graph in one["graphs"] for node in one["node"]}


def addressed_spans(timeline: Path) -> set[str]:
    """Every `pass=P&node=N` that the timeline at this path can show."""
    document = state_of(timeline, "timeline")
    found = set()
    for p in document["passes"]:
        if p["chunk"] is not None:
            assert (timeline.parent / document["data"] / f"{p['chunk']}.js").is_file()
            text = (timeline.parent / document["data"] / f"g{p['graph']}.js").read_text()
            nodes = handed_over(text)[0]["node"]
            found |= {f"pass={p['id']}&node={node}" for node in nodes}
    return found


def broken_links(site: Path) -> Iterator[str]:
    """Every address in the site that leads nowhere, or to nothing on the page it leads to."""
    read = {path.resolve(): Addresses(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    known = {"operations": addressed_ops, "graph": addressed_nodes, "timeline": addressed_spans}
    ops = {
        path.resolve(): addressed(path)
        for page, addressed in known.items()
        for path in site.glob(f"experiments/*/*/{page}/index.html")
    }
    assert len(read) > 3
    for path, page in read.items():
        for address in [*page.linked, *page.loaded] if path.name != "404.html" else []:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc or address in ("", "#"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir() and parts.path.rpartition("/")[2] in ("", ".", ".."):
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file() or not target.is_relative_to(site.resolve()):
                yield f"{path.relative_to(site)}: {address}"
            elif anchor and target in read and anchor not in read[target].ids and anchor not in ops.get(target, ()):
                yield f"{path.relative_to(site)}: {address}: no such anchor"
    for path in site.rglob("*.css"):
        for a, b in CSS_LOADS.findall(path.read_text(encoding="utf-8")):
            if not re.match(r"data:|#", a or b) and not (path.parent / (a or b).partition("#")[0]).is_file():
                yield f"{path.relative_to(site)}: {a or b}"


def outside(address: str) -> bool:
    return bool(urlsplit(address).netloc) or address.startswith("//")


# Links


def test_every_link_and_anchor_leads_somewhere(project: Project) -> None:
    assert list(broken_links(project.site)) == []
    entry = Addresses((project.site / "notes" / "entry.html").read_text())
    assert any(address.endswith("demo/v2/appendix/index.html#fig-heatmap") for address in entry.linked)
    graph = Addresses((project.site / "experiments/demo/v2/graph/index.html").read_text())
    assert sum("operations/index.html#pass=" in address for address in graph.linked) > 10


def test_a_broken_link_is_found(project: Project, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(project.site / "experiments" / "demo", site / "experiments" / "demo")
    path = site / "experiments" / "demo" / "v2" / "graph" / "index.html"
    text = path.read_text()
    text = re.sub(r"#pass=2&amp;node=\d+", "#pass=2&amp;node=77777", text, count=1)
    path.write_text(text + '<a href="../nowhere.html">x</a><a href="../file/index.html#fig-nothing">x</a>')
    found = [line for line in broken_links(site) if line.startswith("experiments/demo/v2/graph")]
    for sign in ("node=77777", "nowhere.html", "#fig-nothing"):
        assert any(sign in line for line in found), sign


def test_nothing_is_loaded_from_outside(project: Project) -> None:
    for path in project.site.rglob("*.html"):
        assert [a for a in Addresses(path.read_text(encoding="utf-8")).loaded if outside(a)] == [], path
    for path in project.site.rglob("*.css"):
        assert [m for m in CSS_LOADS.findall(path.read_text(encoding="utf-8")) if outside(m[0] or m[1])] == [], path
    for path in project.site.rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?:href|src)=['\"](?!#)", text) and "<script" not in text and "<image" not in text, path
    ours = [*(project.site / "experiments").rglob("*.js"), *(project.site / "assets" / "tracegen").glob("tracegen*.js")]
    assert len(ours) > 10
    for path in ours:
        if "hostile" not in path.parts:
            assert not re.search(
                r"https?:(?!//www\.w3\.org/)|//(?!www\.w3\.org/)\w+\.",
                re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL),
            ), path
    for path in (project.site / "assets" / "tracegen").glob("tracegen*.js"):
        assert not SCRIPT_LOADS.search(path.read_text()), path


# Bundles in the site


def test_a_page_of_the_site_holds_the_published_body_byte_for_byte(project: Project) -> None:
    for folder in sorted(project.experiments.glob("*/versions/*")):
        bundle = read_bundle(folder)
        for page in bundle.pages:
            shown = project.site / "experiments" / folder.parents[1].name / f"v{folder.name}" / page["path"]
            body = bundle.body(page["path"])
            assert len(body) > 500 and body in shown.read_bytes(), page["path"]
            assert (folder / page["path"]).read_bytes().split(BODY_BEGIN)[1].split(BODY_END)[0] == body
        for name, content in files_of(folder).items():
            if name.startswith(("data/", "figures/", "citation", "version.json")):
                assert (shown_root(project, folder) / name).read_bytes() == content, name


def shown_root(project: Project, folder: Path) -> Path:
    return project.site / "experiments" / folder.parents[1].name / f"v{folder.name}"


def test_search_holds_titles_and_no_rows(project: Project) -> None:
    path = project.site / "search" / "search_index.json"
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 60_000
    for sign in ("blk.0.", "MUL_MAT", "Qcur-0", PRIVATE_PROMPT, PRIVATE_ANSWER, "Once upon a time", "fig-heatmap"):
        assert sign not in text, sign
    entries = json.loads(text)["docs"]
    for page in (read_bundle(project.bundle("demo", 2)).pages[0], dict(path="file/index.html", summary=OUTLINE[1][2])):
        found = {entry["location"] for entry in entries if page["summary"] in entry["text"]}
        assert any(place.endswith(page["path"]) for place in found), "that of a draft is said before it is drawn"
    places = {entry["location"].partition("#")[0] for entry in entries}
    assert {f"experiments/demo/{f}/index.html" for f in ("v2", "run-002")} <= places
    assert not {place for place in places if "demo/v1/" in place or "demo/v3/" in place}
    assert (path.with_suffix(".js").read_text(encoding="utf-8")) == f"var __index = {text}"


# Other settings of MkDocs


def test_plain_mkdocs_builds_the_same_files(project: Project, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # of the theme's own future, which is not a warning of the build
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=120, env=quiet)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    built, expected = files_of(tmp_path / "site"), files_of(project.site)
    assert set(built) == set(expected)
    assert [name for name in built if built[name] != expected[name] and not name.startswith("sitemap")] == []


@pytest.mark.parametrize(
    "settings",
    [
        {"site_url": "https://example.org/a/b/", "use_directory_urls": "true"},
        {"theme": "{name: mkdocs, highlightjs: false}"},
    ],
    ids=["directory addresses", "built-in theme"],
)
def test_a_strict_build_of_another_kind(project: Project, tmp_path: Path, settings: dict[str, str]) -> None:
    copy = project.copy(tmp_path / "copy", site=False)
    text = copy.config.read_text()
    for key in settings:  # a setting reaches to the next line that is not indented
        text = re.sub(rf"^{key}:.*?\n(?=\S)", "", text, flags=re.MULTILINE | re.DOTALL)
    copy.config.write_text(text + "".join(f"{key}: {value}\n" for key, value in settings.items()))
    build_site(copy.config, strict=True)
    assert list(broken_links(copy.site)) == []
    for path in copy.site.rglob("*.html"):
        loaded = [a for a in Addresses(path.read_text(encoding="utf-8")).loaded if outside(a)]
        assert [a for a in loaded if not a.startswith(settings.get("site_url", "\0"))] == [], path
    body = read_bundle(copy.bundle("demo", 2)).body("operations/index.html")
    assert body in (copy.site / "experiments/demo/v2/operations/index.html").read_bytes()
    if "site_url" in settings:
        assert (copy.site / "notes" / "entry" / "index.html").is_file()
        missing = Addresses((copy.site / "404.html").read_text())
        assert all(a.startswith(("/a/b/", "data:", "https://example.org/a/b/")) for a in missing.loaded)


# Privacy


def readable(folder: Path) -> Iterator[tuple[str, str]]:
    """Every file of a folder as text: Parquet by its values and its metadata, the rest as it is.

    A version's manifest is left out: sizes and hashes of files hold any number by chance.
    """
    for name, content in files_of(folder).items():
        if Path(name).name == "version.json":
            record = json.loads(content)
            del record["manifest"]
            content = json.dumps(record).encode()
        yield name, content.decode("utf-8", "replace")
        if name.endswith(".parquet"):
            table = pq.read_table(io.BytesIO(content))
            yield name, f"{table.schema.metadata} {table.to_pylist()}"


def places(project: Project, name: str) -> list[Path]:
    drafts = project.root / ".tracegen" / "cache" / "drafts" / name
    return [project.experiments / name / "versions", project.site / "experiments" / name, *drafts.glob("*/*")]


def test_nothing_names_the_machine_or_its_user(project: Project) -> None:
    here = [name for name in (socket.gethostname(), str(Path.home()), str(project.root)) if len(name) >= 6]
    looked_at = 0
    for name in ("demo", "hostile", "private", "broken"):
        for place in places(project, name):
            for path, text in readable(place):
                looked_at += 1
                for secret in (*SECRETS, *here):
                    assert secret not in text, f"{place}/{path}: {secret}"
    assert looked_at > 500
    shown = (project.bundle("demo") / "method" / "index.html").read_text()
    assert "demo.gguf" in shown and "ran on (removed), read x.bin at once" in shown


def test_a_private_run_hides_prompt_answer_and_ids(project: Project) -> None:
    folders = places(project, "private")
    assert len(folders) == 3
    tables = private_tables()
    rows = [int(row) for row in tables["touches"].query("unit == 'row'")["first_unit"]]
    table = tables["tensors"].set_index("name").loc["token_embd.weight"]
    row_bytes = int(table["size_bytes"]) // int(table["ne1"])
    numbers = [*PRIVATE_IDS, *rows, *(row * row_bytes for row in rows)]
    numbers += [int(table["offset"]) + row * row_bytes for row in rows]  # the place in the file tells the row
    grouped = [f"{number:,}".replace(",", "[\u202f,]?") for number in numbers]
    secret = re.compile("|".join(["umbrella", "gardener", *(rf"(?<![\d.]){n}(?!\d)" for n in grouped)]), re.IGNORECASE)
    for place in folders:
        for path, text in readable(place):
            found = secret.search(text) if not path.endswith((".pdf", ".png")) else None
            assert not found, f"{place}/{path}: {found}"
    kept = dict(readable(project.experiments / "private" / "runs" / "001"))  # the test can find what it looks for
    assert {path for path, text in kept.items() if secret.search(text)} == {
        "run.json",
        "tables/tokens.parquet",
        "tables/touches.parquet",
    }


# Bytes


def test_the_same_run_published_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """In another process, with another hash seed, time zone and locale, from another folder."""
    run = stored(tmp_path / "one" / "experiments", plain_run(), scaled_case(1, 1, moe=True))
    first = tmp_path / "one" / "experiments" / "demo"
    freeze(first, run, "why", NOW)
    script = (
        "import sys; from pathlib import Path; from tests.site_project import NOW; from tracegen.storing import store\n"
        "from tracegen.publishing.freeze import freeze\n"
        "folder = Path(sys.argv[1]); freeze(folder, store.read_run(folder / 'runs' / '001'), 'why', NOW)"
    )
    folder = tmp_path / "elsewhere" / "demo"
    shutil.copytree(first, folder, ignore=shutil.ignore_patterns("versions", "ledger.json"))
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    command = [sys.executable, "-c", script, str(folder)]
    subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, check=True)
    once, again = files_of(first / "versions"), files_of(folder / "versions")
    assert len(once) > 60 and set(once) == set(again)
    assert [name for name in once if once[name] != again[name]] == []
    assert (first / "ledger.json").read_bytes() == (folder / "ledger.json").read_bytes()


# Bad input


@pytest.mark.parametrize("damage", ["changed", "version.json", "whole version"])
def test_a_damaged_version_stops_the_build_and_the_old_site_stays(
    project: Project, tmp_path: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = project.copy(tmp_path / "copy")
    before = files_of(copy.site)
    bundle = copy.bundle("demo", 2)
    path = bundle / "data" / "ops" / "000.js"
    if damage == "changed":
        content = path.read_bytes()
        path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "version.json":
        path = bundle / "version.json"
        path.write_text(path.read_text().replace('"verdict": "complete with warnings"', '"verdict": "complete"'))
    else:
        path = bundle
        shutil.rmtree(bundle)
    assert cli.main(["build", "-f", str(copy.config)]) == 2
    said = capsys.readouterr().err
    assert str(path) in said and "Traceback" not in said
    assert files_of(copy.site) == before


# The sample


def test_the_sample_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, inside = tmp_path / "sample", tmp_path / "inside"
    inside.mkdir()
    command = [sys.executable, "-m", "tracegen", "sample", "../sample"]  # its path goes up, and then down
    environment = {**os.environ, "PATH": str(tmp_path)}  # no compiler, no git
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, cwd=inside)
    assert done.returncode == 0, done.stderr
    assert (inside / done.stdout.strip()).resolve() == folder / "site" / "index.html"
    assert list(broken_links(folder / "site")) == []
    for version in (folder / "experiments" / "sample" / "versions").iterdir():
        assert sum(len(content) for content in files_of(version).values()) <= 5_000_000, version.name
    before = files_of(folder)
    assert cli.main(["sample", str(folder)]) == 2
    assert "is not an empty folder" in capsys.readouterr().err and files_of(folder) == before
    (tmp_path / "taken").write_text("a file")
    assert cli.main(["sample", str(tmp_path / "taken")]) == 2
    assert (tmp_path / "taken").read_text() == "a file"
    assert set(resources.sample_project()) == set(resources.SAMPLE)
