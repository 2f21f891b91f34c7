"""`tracegen reorder`: what the gguf package reads from both files, and all that is refused or goes wrong."""

import errno
import os
import signal
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.commands.conftest import slow
from tests.readers import gguf_bytes as made
from tests.reordered_files import but_name, by_layer, contents, gguf_file, in_order, reorder
from tests.small_disk import needs_root, small_disk
from tracegen.measure import reordered
from tracegen.measure.demo import whole_files
from tracegen.measure.demo.models import write_demo_model
from tracegen.readers.gguf.header import read_header

NAMES = (
    "token_embd.weight",
    "output.weight",
    "output_norm.weight",
    "rope_freqs.weight",
    "oddly named",
    *(f"blk.{n}.{kind}.weight" for n in range(12) for kind in ("attn_q", "ffn_up_exps", "attn_norm")),
)
SMALL = [
    ("output.weight", (8, 4), "F32"),
    ("blk.1.attn_q.weight", (32, 3), "Q4_0"),
    ("blk.0.attn_q.weight", (32, 2), "Q8_0"),
    ("token_embd.weight", (5,), "F32"),
]


@pytest.fixture
def model(here: Path) -> Path:
    path = here / "m.gguf"
    path.write_bytes(gguf_file(SMALL, [made.string("general.architecture", "llama"), made.u32("llama.x", 7)]))
    return path


# The file


def key_values() -> st.SearchStrategy[list[bytes]]:
    """Key-values of all sorts, in bytes; their keys are `k0`, `k1`, …"""
    kinds = st.one_of(
        st.binary(max_size=20).map(lambda b: (8, made.text(b.hex()))),
        st.integers(0, 255).map(lambda n: (0, bytes([n]))),
        st.floats(width=32).map(lambda x: (6, struct.pack("<f", x))),
        st.integers(0, 2**64 - 1).map(lambda n: (10, struct.pack("<Q", n))),
        st.lists(st.text(max_size=5), max_size=4).map(
            lambda texts: (9, struct.pack("<IQ", 8, len(texts)) + b"".join(map(made.text, texts)))
        ),
        st.lists(st.integers(-5, 5), max_size=9).map(lambda ns: (9, struct.pack(f"<IQ{len(ns)}i", 5, len(ns), *ns))),
    )
    return st.lists(kinds, max_size=5).map(
        lambda pairs: [made.pair(f"k{n}", kind, value) for n, (kind, value) in enumerate(pairs)]
    )


KINDS = (
    ((3,), "F32"),
    ((64, 3), "Q8_0"),
    ((32, 2, 2), "Q4_0"),
    ((1, 7), "F16"),
    ((32, 1), "MXFP4"),
    ((256, 1, 1, 2), "Q4_K"),
    ((2, 3), "I8"),
)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), min_size=1, max_size=12, unique_by=lambda e: e[0]
    ),
    key_values(),
    st.sampled_from([8, 32, 64, 4096]),
    st.sampled_from([2, 3]),
    st.sampled_from([1, 100, reordered.PIECE]),
)
def test_everything_but_the_order_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    chosen: list[tuple[str, tuple[tuple[int, ...], str]]],
    pairs: list[bytes],
    alignment: int,
    version: int,
    piece: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    entries = [(name, shape, dtype) for name, (shape, dtype) in chosen]
    path, out, again = folder / "m.gguf", folder / "out.gguf", folder / "again.gguf"
    data = gguf_file(entries, pairs, alignment, version)
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reordered, "PIECE", piece)
        assert reorder(path, out, "--order", "layer") == 0
    assert path.read_bytes() == data, "the model is never written"
    assert contents(out) == contents(path) and in_order(out) == by_layer([name for name, _, _ in entries])
    before_the_list = 24 + sum(map(len, pairs)) + (alignment != 32) * len(made.u32("general.alignment", 0))
    assert out.read_bytes()[:before_the_list] == data[:before_the_list], "counts and key-values, byte for byte"
    assert reorder(out, again, "--order", "layer") == 0 and again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("alignment", [8, 32, 4096])
@pytest.mark.parametrize("name", ["", "m", "Größe", "x" * 33, "a model, tensors in order first-touch"])
def test_the_name_of_the_model_says_the_order(here: Path, name: str, alignment: int) -> None:
    pairs = [made.string("general.architecture", "llama"), made.string("general.name", name), made.u32("llama.x", 7)]
    path, out, again = here / "m.gguf", here / "out.gguf", here / "again.gguf"
    path.write_bytes(gguf_file(SMALL, pairs, alignment))
    assert reorder(path, out, "--order", "layer") == 0
    said = read_header(out).metadata["general.name"]
    assert said == f"{name.partition(', tensors')[0]}, tensors in order layer"
    assert but_name(out) == but_name(path) and in_order(out) == by_layer([entry[0] for entry in SMALL])
    assert reorder(out, again, "--order", "layer") == 0 and again.read_bytes() == out.read_bytes()


def test_a_demo_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write_demo_model("moe", tmp_path / "m.gguf")[0], tmp_path / "new" / "l.gguf"
    assert reorder(path, out, "--order", "layer") == 0 and but_name(out) == but_name(path)
    names = [t.name for t in sorted(gguf.GGUFReader(path).tensors, key=lambda t: int(t.data_offset))]
    assert in_order(out) == by_layer(names) != names
    readers = [gguf.GGUFReader(each) for each in (path, out)]
    old, new = ({t.name: int(t.data_offset - of.data_offset) for t in of.tensors} for of in readers)
    n_moved = sum(old[name] != new[name] for name in names)
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"{out}  {out.stat().st_size:,} bytes",
        "Order layer: embeddings, then layer by layer, then what belongs to no layer.",
        f"{n_moved} of {len(names)} tensors begin at another byte.",
    ]
    assert printed.err.splitlines()[-1].startswith("write l.gguf: ")
    assert list(out.parent.iterdir()) == [out]


def test_large_files_are_flushed_while_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = write_demo_model("demo", tmp_path / "m.gguf")[0], tmp_path / "l.gguf"
    monkeypatch.setattr(reordered, "UNWRITTEN", 1 << 20)
    monkeypatch.setattr(reordered, "PIECE", 100_000)
    flushed, flush = list[int](), os.fdatasync
    monkeypatch.setattr(reordered.os, "fdatasync", lambda fd: flushed.append(fd) or flush(fd))
    assert reorder(path, out, "--order", "layer") == 0 and len(flushed) == out.stat().st_size // (1 << 20) + 1
    assert but_name(out) == but_name(path)


def test_bytes_of_no_tensor_are_left_out_and_named(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_bytes(gguf_file(SMALL, tail=b"x" * 100))
    assert reorder(model, "o.gguf", "--order", "layer") == 0
    assert "100 bytes of " in (printed := capsys.readouterr().out) and "belong to no tensor and are left out" in printed
    assert contents(Path("o.gguf")) == contents(model)


def test_padding_that_is_missing_at_the_end(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = gguf_file(SMALL)
    model.write_bytes(data[: len(data) - 12])  # the last tensor has 20 of 32 bytes
    assert reorder(model, "o.gguf", "--order", "layer") == 0
    assert "belong to no tensor" not in capsys.readouterr().out
    assert contents(Path("o.gguf")) == contents(model) and in_order(Path("o.gguf"))[0] == "token_embd.weight"


def test_a_file_system_that_cannot_reserve(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "no")

    monkeypatch.setattr(reordered.os, "posix_fallocate", refused)
    assert reorder(model, "o.gguf", "--order", "layer") == 0
    assert contents(Path("o.gguf")) == contents(model) and in_order(Path("o.gguf"))


def test_reads_and_writes_that_end_early_go_on(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pread, os.pwrite
    monkeypatch.setattr(reordered.os, "pread", lambda fd, n, at: read(fd, min(n, 7), at))
    monkeypatch.setattr(reordered.os, "pwrite", lambda fd, data, at: write(fd, data[:5], at))
    assert reorder(model, "o.gguf", "--order", "layer") == 0
    assert contents(Path("o.gguf")) == contents(model) and in_order(Path("o.gguf"))


# What is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["m.gguf", "o.gguf"], "Missing option '--order'"),
        (["m.gguf", "o.gguf", "--order", "random"], "'random' is not one of 'layer', 'first-touch', "),
        (
            ["m.gguf", "o.gguf", "--order", "hot"],
            "--order hot: needs a run that says what was touched; name it with --",
        ),
        (["m.gguf", "o.gguf", "--order", "first-touch"], "--order first-touch: needs a run"),
        (["m.gguf", "o.gguf", "--order", "hot", "--run", "nobody"], "nobody"),
        (["m.gguf", "o.bin", "--order", "layer"], "o.bin: a model file is called NAME.gguf"),
        (
            ["m.gguf", "there.gguf", "--order", "layer"],
            "there.gguf: exists already; remove it, choose another name, or",
        ),
        (["m.gguf", "dir.gguf", "--order", "layer", "--force"], "dir.gguf: is not a regular file"),
        (["m.gguf", "m.gguf", "--order", "layer", "--force"], "m.gguf: is the file of MODEL itself"),
        (["m.gguf", "soft.gguf", "--order", "layer", "--force"], "soft.gguf: is the file of MODEL itself"),
        (["m.gguf", "hard.gguf", "--order", "layer", "--force"], "hard.gguf: is the file of MODEL itself"),
        (["m.gguf", "dangling.gguf", "--order", "layer", "--force"], "dangling.gguf: is a link"),
        (["none.gguf", "o.gguf", "--order", "layer"], "none.gguf: cannot be read: No such file"),
        (["pipe.gguf", "o.gguf", "--order", "layer"], "pipe.gguf: is not a regular file; name a GGUF model"),
        (["there.gguf", "o.gguf", "--order", "layer"], "there.gguf: is not a GGUF file"),
        (["big.gguf", "o.gguf", "--order", "layer"], "is a big-endian GGUF file; tracegen reads little-endian"),
        (["one.gguf", "o.gguf", "--order", "layer"], "is a version 1 GGUF file"),
        (["split-00001-of-00002.gguf", "o.gguf", "--order", "layer"], "is one of the 2 files of a split model"),
        (["twice.gguf", "o.gguf", "--order", "layer"], "the tensor 'a' occurs twice"),
        (["cut.gguf", "o.gguf", "--order", "layer"], "cut.gguf: is cut at offset"),
        (["empty.gguf", "o.gguf", "--order", "layer"], "empty.gguf: holds no tensors"),
        (["huge.gguf", "o.gguf", "--order", "layer"], "the header announces"),
        (["far.gguf", "o.gguf", "--order", "layer"], "far.gguf: is cut at offset"),
    ],
)
def test_wrong_use_and_files(model: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    Path("there.gguf").write_bytes(b"dear")
    Path("dir.gguf").mkdir()
    Path("soft.gguf").symlink_to("m.gguf")
    Path("hard.gguf").hardlink_to("m.gguf")
    Path("dangling.gguf").symlink_to("elsewhere.gguf")
    os.mkfifo("pipe.gguf")
    data = model.read_bytes()
    Path("big.gguf").write_bytes(b"GGUF" + struct.pack(">I", 3) + data[8:])
    Path("one.gguf").write_bytes(b"GGUF" + struct.pack("<I", 1) + data[8:])
    Path("split-00001-of-00002.gguf").write_bytes(gguf_file(SMALL, [made.u16("split.count", 2)]))
    Path("twice.gguf").write_bytes(gguf_file([("a", (4,), "F32"), ("a", (4,), "F32")]))
    Path("cut.gguf").write_bytes(data[:-40])
    Path("empty.gguf").write_bytes(made.header([made.pair("general.alignment", 10, struct.pack("<Q", 1 << 62))]))
    Path("huge.gguf").write_bytes(data[:8] + struct.pack("<Q", 1 << 60) + data[16:])
    Path("far.gguf").write_bytes(made.header((), [made.tensor("a", (4,), 0, 1 << 40)]) + bytes(64))
    there = {path.name: path.lstat().st_ino for path in Path().iterdir()}
    assert reorder(*words) == 2
    output = capsys.readouterr()
    assert message in output.err and output.out == ""
    assert {path.name: path.lstat().st_ino for path in Path().iterdir()} == there
    assert model.read_bytes() == data and Path("there.gguf").read_bytes() == b"dear"


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_file_is_refused_or_whole(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    whole = bytearray(gguf_file(SMALL, [made.u32("general.quantization_version", 2)], alignment=64))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, 300))] = data.draw(st.integers(0, 255))
    path, out = folder / "m.gguf", folder / "o.gguf"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    status = reorder(path, out, "--order", "layer")
    assert status in (0, 2) and out.exists() == (status == 0)
    assert {each.name for each in folder.iterdir()} == {"m.gguf", "o.gguf"} if status == 0 else {"m.gguf"}


def test_force_replaces_a_file_and_a_model_behind_a_link_is_read(model: Path) -> None:
    Path("o.gguf").write_bytes(b"old")
    Path("soft.gguf").symlink_to(model)
    assert reorder("soft.gguf", "o.gguf", "--order", "layer", "--force") == 0
    assert contents(Path("o.gguf")) == contents(model)


# What goes wrong meanwhile


def test_a_disk_without_room_is_refused_before_anything_is_written(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(whole_files.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    assert reorder(model, "new/o.gguf", "--order", "layer") == 3
    assert "of disk are free, and" in (error := capsys.readouterr().err) and "make room, or name a file on" in error
    assert list(Path().iterdir()) == [Path("m.gguf")]


@needs_root
def test_a_disk_that_is_full_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_demo_model("demo", tmp_path / "m.gguf")[0]
    small = tmp_path / "small"
    small.mkdir()
    for reserve in (True, False):  # the file is refused at once, or while it is written
        with small_disk(small, "size=2m"), monkeypatch.context() as patch:
            patch.setattr(whole_files.shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 40))
            patch.setattr(reordered, "PIECE", 1 << 18)
            if not reserve:
                patch.setattr(reordered, "_reserve", lambda *_: None)
            assert reorder(path, small / "o.gguf", "--order", "layer") == 3
            assert "o.gguf: could not be written: No space left on device" in capsys.readouterr().err
            assert list(small.iterdir()) == []


def test_a_write_that_fails(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Path("o.gguf").write_bytes(b"dear")
    write, left = os.pwrite, [3]

    def failing(*given: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return write(*given)

    monkeypatch.setattr(reordered.os, "pwrite", failing)
    assert reorder(model, "o.gguf", "--order", "layer", "--force") == 3
    assert "o.gguf: could not be written: Input/output error" in capsys.readouterr().err
    assert Path("o.gguf").read_bytes() == b"dear" and len(list(Path().iterdir())) == 2


def test_a_read_that_fails(model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failing(*_: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(reordered.os, "pread", failing)
    assert reorder(model, "o.gguf", "--order", "layer") == 2
    assert "m.gguf: cannot be read: Input/output error" in capsys.readouterr().err
    assert list(Path().iterdir()) == [Path("m.gguf")]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda model: os.truncate(model, 200), "it was cut meanwhile; try again"),
        (lambda model: model.write_bytes(bytes(len(model.read_bytes()))), "was changed while it was copied; try again"),
        (lambda model: Path("o.gguf").write_bytes(b"dear"), "o.gguf: exists already"),
    ],
)
def test_files_that_change_meanwhile(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], act: Any, message: str
) -> None:
    reserve = reordered._reserve

    def acting(*given: int) -> None:
        reserve(*given)
        act(model)

    monkeypatch.setattr(reordered, "_reserve", acting)
    assert reorder(model, "o.gguf", "--order", "layer") == 2
    assert message in capsys.readouterr().err
    left = {path.name: path.read_bytes() for path in Path().iterdir() if path != Path("m.gguf")}
    assert left in ({}, {"o.gguf": b"dear"})


def test_ctrl_c(model: Path) -> None:
    """While bytes are written slowly."""
    tracegen = slow("pwrite", 0.2, "from tracegen.measure import reordered; reordered.PIECE = 8")
    for number, left in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        program = [*tracegen, "reorder", model, "o.gguf", "--order", "layer"]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert child.stderr is not None
            while child.stderr.readline() != "called\n":
                assert child.poll() is None
            assert len(list(Path().iterdir())) == 2, "a hidden folder beside the file"
            child.send_signal(number)
            out, err = child.communicate()
        assert (child.returncode, out) == (left, "")
        assert err.splitlines()[-1] == "tracegen: interrupted"
        assert list(Path().iterdir()) == [Path("m.gguf")]
