"""Secrets in all places where one can stand: a run, a version, a site, exports and answers are read byte by byte.

A canary of `NEVER` must be nowhere; one of `OWN` may be in the run, which stays here, but not in what becomes public.
"""

import base64
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stand_in import a_project
from tracegen.cli.main import main
from tracegen.measure.capture.llama_cpp import TARGET, Build
from tracegen.measure.demo.models import write_demo_model

NEVER = [f"canary{n:02d}never" for n in range(20)]
OWN = [f"canary{n:02d}own" for n in range(20, 24)]
TOKEN = f"hf_{NEVER[0] * 3}"
ENVIRONMENT = {
    "LLAMA_API_KEY": NEVER[1],
    "LLAMA_ARG_HF_TOKEN": NEVER[2],
    "HF_TOKEN": NEVER[3],
    "GGML_DB_PASSWORD": NEVER[4],
    "KMP_SECRET": NEVER[5],
    "MY_CREDENTIALS": NEVER[6],
    "GGML_UNKNOWN": NEVER[7],
    "OMP_AFFINITY_FORMAT": NEVER[8],
    "GGML_SCHED_DEBUG": f"http://ada:{NEVER[9]}@host",
    f"LLAMA_{TOKEN}": "1",
    "CUDA_CACHE_PATH": NEVER[19],
}
# It is not a program of llama.cpp, starts one, and says what it was given.
SCRIPT = f"""
import os, sys
said = [sys.stdin.read(), os.environ["HF_TOKEN"], *sys.argv]
print("given", *said[1:], file=sys.stderr, flush=True)
print("given", *said[1:], flush=True)
os.execv(sys.argv[1], [sys.argv[1], "-m", sys.argv[2], "-p", "The memory", "-n", "2", "-no-cnv", "--fit", "off",
                       "--no-warmup", "-hft", {NEVER[10]!r}])
"""
DESCRIPTION = b"Random weights, written by tracegen to measure memory access: its text means nothing."


def decoded(content: bytes, depth: int = 3) -> Iterator[bytes]:
    """A content with what it holds packed: zstd, gzip, zip, Parquet, streams of PDF, base64, text in UTF-16."""
    yield content
    if depth == 0:
        return
    inner: list[bytes] = []
    if content[:4] == b"\x28\xb5\x2f\xfd":
        inner.append(pa.CompressedInputStream(pa.BufferReader(content), "zstd").read())
    if content[:2] == b"\x1f\x8b":
        inner.append(gzip.decompress(content))
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            inner += [archive.read(name) for name in archive.namelist()]
    if content[:4] == b"PAR1":
        table = pq.read_table(io.BytesIO(content))
        texts = [
            column for column in table.columns if pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)
        ]
        inner += [str(column.unique().to_pylist()).encode() for column in texts]
    for stream in re.finditer(rb"stream\r?\n(.*?)endstream", content, re.DOTALL) if content[:5] == b"%PDF-" else ():
        inner += [zlib.decompressobj().decompress(stream[1])] if stream[1][:1] == b"\x78" else []
    for text in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", content):
        inner.append(base64.b64decode(text[: len(text) // 4 * 4]))
    for part in inner:
        yield from decoded(part, depth - 1)


def found(folder: Path, canaries: list[str]) -> list[str]:
    """Which canaries the files of a folder and their names hold, and where; a file that occurs twice is read once."""
    needles = [(canary, canary.encode()) for canary in canaries]
    shown, read = [], set()
    for path in sorted(folder.rglob("*")):
        parts = [os.fsencode(path.relative_to(folder))]
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if (digest := hashlib.sha256(content).digest()) not in read:
            parts += decoded(content)
        read.add(digest)
        whole = b"\n".join(parts)
        shown += [f"{path.relative_to(folder)}: {canary}" for canary, needle in needles if needle in whole]
    return shown


def test_the_search_finds_what_is_packed(tmp_path: Path) -> None:
    words = b"deep canary in a text that is long enough"
    pq.write_table(pa.table({"a": [words.decode()]}), tmp_path / "table.parquet")
    (tmp_path / "a.gz").write_bytes(gzip.compress(base64.b64encode(words)))
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 stream\n" + zlib.compress(words) + b"\nendstream")
    with pa.output_stream(str(tmp_path / "a.zst"), compression="zstd") as packed:
        packed.write(words)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x", words)
    assert len(found(tmp_path, ["canary"])) == 5


@pytest.mark.llama
def test_no_secret_leaves_its_place(
    plain: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, models = tmp_path / "project", tmp_path / f"models-{OWN[0]}"
    project.mkdir()
    models.mkdir()
    config = a_project(project / "here")
    project = config.parent
    config.write_text(f"{config.read_text()}site_url: https://ada:{NEVER[11]}@example.org/site/\nsite_author: Ada\n")
    model = write_demo_model("demo", models / "demo.gguf")[0]
    secret = f"Random weights https://ada:{NEVER[12]}@host/?token={NEVER[13]}".encode().ljust(len(DESCRIPTION))
    content = model.read_bytes()
    assert content.count(DESCRIPTION) == 1 and len(secret) == len(DESCRIPTION)
    model.write_bytes(content.replace(DESCRIPTION, secret))
    (project / "script.py").write_text(SCRIPT)
    git = ["git", "-C", str(project), "-c", f"user.email=ada@{NEVER[14]}", "-c", f"user.name={NEVER[15]}"]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", f"https://ada:{NEVER[16]}@host/x.git"],
        ["commit", "-q", "--allow-empty", "-m", NEVER[17]],
    ):
        subprocess.run([*git, *words], check=True)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(project)
    said = []

    def tracegen(*words: str, status: int = 0) -> None:
        assert main(words) == status, capsys.readouterr().err
        said.extend(capsys.readouterr())

    command = [
        sys.executable,
        "-m",
        "tracegen",
        "exec",
        "a",
        "--attach",
        "--interactive",
        "--",
        sys.executable,
        "script.py",
        str(plain.programs / TARGET),
        str(model),
        "--unknown",
        OWN[1],
        f"--other={OWN[2]}",
        OWN[3],
        "--api-key",
        NEVER[18],
        TOKEN,
    ]
    ended = subprocess.run(command, input=NEVER[0], capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    command = [
        *command[:3],
        "exec",
        "b",
        "--attach",
        "--",
        str(plain.programs / TARGET),
        "-hft",
        NEVER[10],
        "--no-such",
    ]
    assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 2
    run = project / "experiments" / "a" / "runs" / "001"
    assert not found(run, NEVER) and not found(project / "experiments" / "b", NEVER)
    stored = {canary for line in found(run, OWN) for canary in OWN if canary in line}
    assert stored == set(OWN), "what is not secret is in the run, so that its absence elsewhere says something"

    tracegen("publish", "a", "-m", "why")
    settings = project / "experiments" / "a" / "experiment.toml"
    settings.write_text("private = true\n")
    tracegen("publish", "a", "-m", "why", "--again")
    settings.unlink()
    public = project / "public"
    public.mkdir()
    tracegen("export", "a", "html", "--out", "public/a.html")
    tracegen("show", "a", "--issue")
    tracegen("build", "--strict")
    (public / "said.txt").write_text("\n".join(said))
    for folder in (project / "experiments" / "a" / "versions", public, project / "site"):
        assert not found(folder, [*NEVER, *OWN])

    for written in ("perfetto", "csv", "json", "dot"):
        tracegen("export", "a", written, "--out", f"own/{written}")
    tracegen("show", "a", "--json")
    tracegen("show", "a", "--stats")
    (project / "own" / "said.txt").write_text("\n".join(said))
    assert not found(project / "own", NEVER)
