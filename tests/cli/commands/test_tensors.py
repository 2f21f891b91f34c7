import csv
import io
import json
from pathlib import Path

import pytest

from tests.readers import gguf_bytes as made
from tracegen.cli.commands import tensors

EXPECTED = """\
llama · na\\x1bme · 2 layers · 3 tensors

file 0: m.gguf, 704 bytes

file  offset  size_bytes  dtype  shape       layer  component    name
   0     320          54  Q4_0   32 × 3             embedding    token_embd.weight
   0     384         272  MXFP4  64 × 2 × 4      1  expert_gate  blk.1.ffn_gate_exps.weight
   0     672          32  F32    2 × 4           1  other        blk.1.\\x1b[2J

component    tensors  size_bytes    share
embedding          1          54   15.1 %
expert_gate        1         272   76.0 %
other              1          32    8.9 %
all                3         358  100.0 %
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    data = made.file(
        {
            "token_embd.weight": ((32, 3), 2, 54),
            "blk.1.ffn_gate_exps.weight": ((64, 2, 4), 39, 272),
            "blk.1.\x1b[2J": ((2, 4), 0, 32),
        },
        [
            made.string("general.architecture", "llama"),
            made.string("general.name", "na\x1bme"),
            made.u32("llama.block_count", 2),
        ],
    )
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert tensors.command.main(list(arguments), standalone_mode=False) == 0
    return capsys.readouterr().out


def test_the_list_has_totals_by_component(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, str(path)) == EXPECTED


def test_only_many_tensors_show_progress(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tensors.command.main([str(path)], standalone_mode=False) == 0
    assert capsys.readouterr().err == ""
    many = tmp_path / "many.gguf"
    many.write_bytes(made.file({f"blk.{i}.attn_q.weight": ((1,), 0, 4) for i in range(10_000)}))
    assert tensors.command.main([str(many)], standalone_mode=False) == 0
    out, err = capsys.readouterr()
    assert "0 % (0 of 10000 tensors)" in err.splitlines()[0] and err.startswith("read the list of tensors: ")
    assert "· 10000 tensors" in f"· {out.splitlines()[0]}"


def test_csv_has_a_row_for_each_tensor(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, str(path), "--csv"))))
    assert [row["offset"] for row in rows] == ["320", "384", "672"]
    assert rows[0] | {"layer": "", "n_experts": ""} == rows[0]
    assert rows[1]["n_experts"] == "4" and rows[1]["file"] == "m.gguf" and rows[2]["name"] == "blk.1.\\x1b[2J"


def test_json_has_an_object_for_each_tensor(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, str(path), "--json")
    rows = json.loads(text)
    assert "\x1b" not in text
    assert rows[0] == {
        "tensor": 0,
        "name": "token_embd.weight",
        "file": "m.gguf",
        "offset": 320,
        "size_bytes": 54,
        "dtype": "Q4_0",
        "ne0": 32,
        "ne1": 3,
        "ne2": 1,
        "ne3": 1,
        "layer": None,
        "component": "embedding",
        "n_experts": None,
    }
    assert rows[2]["name"] == "blk.1.\x1b[2J"


def test_a_file_without_tensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(made.header())
    assert "0 tensors" in printed(capsys, str(path)) and json.loads(printed(capsys, str(path), "--json")) == []
