"""`tracegen reorder --run`: the orders that a run gives, and the simulation, in plain loops over tables."""

import random
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gguf
import pandas as pd
import pytest

from tests.builders import scaled_case
from tests.reordered_files import by_layer, contents, gguf_file, in_order, reorder
from tests.reordered_runs import entries_of, reads_of, relocated, stored_run, touched
from tracegen.analysis import what_if
from tracegen.cli.commands import reorder as command
from tracegen.contract.model import Check
from tracegen.measure.demo import whole_files


def test_every_order_is_explained() -> None:
    assert tuple(command.MEANING) == what_if.ORDERS[1:]


def plain_order(which: str, names: Sequence[str], tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """The orders of a run, in plain loops; `names` in the order of the file."""
    tensors = touched(tables)
    first, bytes_of = dict[str, int](), dict[str, int]()
    for number, (name, size) in enumerate(tensors):
        first.setdefault(name, number)
        bytes_of[name] = bytes_of.get(name, 0) + size
    sizes = tables["tensors"].set_index("name")["size_bytes"]
    if which == "first-touch":
        return sorted(names, key=lambda name: first.get(name, len(tensors)))
    return sorted(names, key=lambda name: -Fraction(bytes_of.get(name, 0), int(sizes[name])))


@pytest.fixture
def case(here: Path) -> dict[str, pd.DataFrame]:
    """A stored run `demo` of a mixture, and its model `m.gguf`, whose tensors stand in an order of their own."""
    tables = scaled_case(4, 3, moe=True, copied=False)
    stored_run(tables)
    entries = entries_of(tables)
    random.Random(9).shuffle(entries)
    Path("m.gguf").write_bytes(gguf_file(entries))
    return tables


@pytest.mark.parametrize("which", ["first-touch", "hot", "layer"])
def test_orders_and_simulation(case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str], which: str) -> None:
    assert reorder("m.gguf", "o.gguf", "--order", which, "--run", "demo") == 0
    printed = capsys.readouterr().out
    assert contents(Path("o.gguf")) == contents(Path("m.gguf"))
    names = [t.name for t in gguf.GGUFReader("m.gguf").tensors]
    assert in_order(Path("o.gguf")) == (by_layer(names) if which == "layer" else plain_order(which, names, case))
    found = re.search(
        r"prediction of speed: ([\d.]+) reads per token \(generate pass\) from MODEL as it is, ([\d.]+) "
        r"from OUT",
        printed,
    )
    assert found, printed
    before, after = (reads_of(relocated(case, Path(file))) for file in ("m.gguf", "o.gguf"))
    assert tuple(map(float, found.groups())) == (before, after)
    assert before != after, "else this test says little"
    assert ("The order was learned on all measured passes, these among them" in printed) == (which != "layer")
    n_touched = len({name for name, _ in touched(case)})
    assert f"{len(names) - n_touched} of {len(names)} tensors: demo never touched them in the file" in printed


def test_a_split_model_and_another_order(case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    """The same tensors in two files give the same order and the same figures; so does a run of the new file."""
    split = scaled_case(4, 3, moe=True, copied=False, splits=2)
    stored_run(split, "split")
    assert reorder("m.gguf", "a.gguf", "--order", "hot", "--run", "demo") == 0
    one = capsys.readouterr().out.splitlines()[1:]
    assert reorder("m.gguf", "b.gguf", "--order", "hot", "--run", "split") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [line.replace("demo", "split") for line in one]
    assert Path("a.gguf").read_bytes() == Path("b.gguf").read_bytes()


def test_copied_weights_count_as_never_touched(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = scaled_case(4, 3, moe=True, copied=True)
    stored_run(tables)
    entries = entries_of(tables)
    Path("m.gguf").write_bytes(gguf_file(entries))
    assert reorder("m.gguf", "o.gguf", "--order", "first-touch", "--run", "demo/run-003") == 0
    in_file = {name for name, _ in touched(tables)}
    copied = len(entries) - len(in_file)
    assert 10 < copied < len(entries)
    assert f"{copied} of {len(entries)} tensors: demo/run-003 never touched them" in capsys.readouterr().out
    names = in_order(Path("o.gguf"))
    assert set(names[: len(in_file)]) == in_file
    assert names[len(in_file) :] == [name for name, _, _ in entries if name not in in_file]


def test_a_run_that_touched_nothing_of_it(case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    placements = case["placements"].copy()
    placements["memory"] = placements["memory"].astype("object").replace("disk", "copied").astype("category")
    stored_run({**case, "placements": placements.astype(case["placements"].dtypes.to_dict())}, "copied")
    for which in ("hot", "first-touch"):
        assert reorder("m.gguf", "o.gguf", "--order", which, "--run", "copied") == 2
        assert "copied touched no tensor in the mapped file, so it gives no order" in capsys.readouterr().err
    assert not Path("o.gguf").exists()
    assert reorder("m.gguf", "o.gguf", "--order", "layer", "--run", "copied") == 0
    assert "No simulation: no prompt or generate pass of copied touched the file." in capsys.readouterr().out


def test_a_dry_run_says_the_same_and_writes_nothing(
    case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = sorted(Path().iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(whole_files.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        assert reorder("m.gguf", "o.gguf", "--order", "hot", "--run", "demo", "--dry-run") == 0
    dry = capsys.readouterr()
    assert sorted(Path().iterdir()) == there and dry.err == ""
    assert reorder("m.gguf", "o.gguf", "--order", "hot", "--run", "demo") == 0
    real = capsys.readouterr().out
    assert dry.out.replace(", not written (--dry-run)", "").replace("would begin", "begin") == real


def test_a_run_whose_checks_failed(case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str]) -> None:
    failed = Check("dropped_events", "No event was dropped", "failed", "3", "0")
    stored_run(case, "bad", (failed,))
    assert reorder("m.gguf", "o.gguf", "--order", "hot", "--run", "bad") == 2
    assert "bad: does not say what was touched: the check “No event was dropped” failed" in capsys.readouterr().err


DIFFERENCES = [
    (lambda es: es[:-1], "1 of 34 tensors differ", "is only in the run"),
    (lambda es: [*es, ("blk.0.more", (4,), "F32")], "1 of 35 tensors differ", "'blk.0.more' is only in the file"),
    (
        lambda es: [(n, s, "Q8_0" if n == "blk.0.attn_q.weight" else d) for n, s, d in es],
        "1 of 34",
        "'blk.0.attn_q.weight' is Q8_0 256 × 256 × 1 × 1, 69632 bytes in the file and Q4_0 256 × 256 × 1 × 1, 36864",
    ),
    (
        lambda es: [
            (n, (s[1], s[0], *s[2:]) if n == "output.weight" else s, "F32" if n == "output.weight" else d)
            for n, s, d in es
        ],
        "1 of 34",
        "'output.weight' is F32 1000 × 256",
    ),
    (lambda es: [(f"x{n}"[:60], s, d) for n, s, d in es], "68 of 68 tensors differ", "; and 65 more; name the model"),
]


@pytest.mark.parametrize(("change", "how_many", "which"), DIFFERENCES)
def test_another_model_than_that_of_the_run(
    case: dict[str, pd.DataFrame], capsys: pytest.CaptureFixture[str], change: Any, how_many: str, which: str
) -> None:
    Path("other.gguf").write_bytes(gguf_file(change(entries_of(case))))
    for name in ("layer", "hot"):
        assert reorder("other.gguf", "o.gguf", "--order", name, "--run", "demo") == 2
        error = capsys.readouterr().err
        assert "other.gguf: is not the model of demo" in error and which in error and how_many in error
    assert not Path("o.gguf").exists()
