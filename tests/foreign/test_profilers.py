"""Traces of profilers of devices against what the files that were made by hand say."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.foreign import profiles
from tests.foreign.profiles import OPS, TOKENS
from tracegen.analysis import device_ops
from tracegen.contract.errors import TraceFormatError
from tracegen.contract.kernel_names import op_of, short_name
from tracegen.contract.model import Check
from tracegen.contract.tables import check
from tracegen.foreign.importing import as_run, import_run, read_again
from tracegen.foreign.profilers import nsys
from tracegen.foreign.reading import read_trace
from tracegen.foreign.selection import found_in
from tracegen.foreign.trace import ForeignTrace
from tracegen.report.figures import timeline
from tracegen.report.figures.context import Context
from tracegen.report.pages.render import render_report
from tracegen.storing import store
from tracegen.storing.progress import Progress

MAKERS: dict[str, Callable[..., Path]] = {
    "opencl": profiles.opencl,
    "scheduler": profiles.scheduler,
    "nsys": profiles.nsys,
}
DEVICES = {"opencl": "OpenCL", "scheduler": "CUDA0", "nsys": "CUDA0"}
NAMED = {"opencl": [row[0] for row in OPS], "scheduler": [row[0] for row in OPS], "nsys": None}


def read(path: Path) -> ForeignTrace:
    """The trace; each of its tables keeps the contract."""
    wanted = found_in([path])
    trace = read_trace(wanted, {found: found.path for found in wanted.files}, Progress())
    for name, table in trace.tables.items():
        check(name, table)
    return trace


def checks(trace: ForeignTrace) -> dict[str, Check]:
    return {each.key: each for each in trace.checks}


@pytest.mark.parametrize("role", MAKERS)
def test_passes_operations_and_times_are_those_of_the_file(role: str, tmp_path: Path) -> None:
    trace = read(MAKERS[role](tmp_path))
    passes, ops = trace.tables["passes"], trace.tables["ops"]
    assert passes["kind"].tolist() == ["prompt", "generate", "generate"]
    assert passes["n_tokens"].tolist() == [*TOKENS]
    assert passes["produced_token"].tolist() == [0, 1, 2]
    device = ops[ops["backend"] == DEVICES[role]]
    found = list(zip(device["begin_ns"].tolist(), device["end_ns"].tolist(), strict=True))
    assert found == [times for of_pass in profiles.times() for times in of_pass]
    nodes = trace.tables["graph_nodes"].set_index(["graph", "node"])
    graph = passes.set_index("pass_id")["graph"]
    rows = [nodes.loc[(graph[p], n)] for p, n in zip(device["pass_id"], device["node"], strict=True)]
    assert [row["op"] for row in rows] == [row[3] for row in OPS] * len(TOKENS)
    if NAMED[role] is not None:
        assert [row["name"] for row in rows] == NAMED[role] * len(TOKENS)
        assert [row["layer"] for row in rows][:5] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("role", MAKERS)
def test_devices_are_busy_as_long_as_their_operations_take(role: str, tmp_path: Path) -> None:
    busy = device_ops.busy_ns(read(MAKERS[role](tmp_path)).tables["device_ops"])
    wanted = [sum(end - begin for begin, end in of_pass) for of_pass in profiles.times()]
    assert busy.xs(DEVICES[role], level="device").tolist() == wanted


@pytest.mark.parametrize("role", MAKERS)
def test_no_check_fails(role: str, tmp_path: Path) -> None:
    assert not [each for each in read(MAKERS[role](tmp_path)).checks if each.state == "failed"]


@pytest.mark.parametrize("role", ["scheduler", "nsys"])
def test_copies_belong_to_their_pass(role: str, tmp_path: Path) -> None:
    copies = read(MAKERS[role](tmp_path)).tables["copies"]
    assert copies["pass_id"].tolist() == [0, 0, 1, 1, 2, 2] if role == "scheduler" else [0, 1, 1, 2, 2]
    assert set(copies["proof"].astype("object").fillna("null")) == {"none" if role == "scheduler" else "null"}
    logits = copies[copies["target"] == "CPU"]
    assert logits["source"].tolist() == ["CUDA0"] * 3 and logits["pass_id"].tolist() == [0, 1, 2]


def test_the_copies_of_a_load_are_no_inputs_of_the_prompt(tmp_path: Path) -> None:
    trace = read(profiles.nsys(tmp_path))
    assert trace.tables["copies"]["size_bytes"].max() < 80_000_000
    assert "2 copies lie before" in checks(trace)["trace_complete"].detail  # the weights, and the inputs of the prompt


def test_a_pass_lasts_until_its_results_are_copied(tmp_path: Path) -> None:
    passes = read(profiles.nsys(tmp_path)).tables["passes"]
    assert passes["end_ns"].tolist() == [of_pass[-1][1] + 5_000 for of_pass in profiles.times()]


@pytest.mark.parametrize("role", MAKERS)
def test_a_trace_is_imported_and_read_again(role: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    wanted = found_in([MAKERS[role](source)])
    run, known = import_run("it", tmp_path / "it", wanted, Progress())
    folder = tmp_path / "it" / "runs" / "001"
    tables = folder / "tables"
    before = store.read_tables(tables)
    assert not known and run.facts.imported is not None and run.facts.imported.spans
    assert [check.state for check in read_again(folder).checks] == [check.state for check in run.checks]
    after = store.read_tables(tables)
    assert all(before[name].equals(after[name]) for name in before)
    assert import_run("it", tmp_path / "it", wanted, Progress())[1]


@pytest.mark.parametrize("role", MAKERS)
def test_pages_show_the_devices_of_a_token(role: str, tmp_path: Path) -> None:
    """The pass that is shown is that of median length; how busy its device was is counted from the file."""
    wanted = found_in([MAKERS[role](tmp_path)])
    run, tables = as_run(wanted, Progress())
    context = Context(run, tables)
    content = timeline._content(context)
    took = sum(end - begin for begin, end in profiles.times()[1])
    (whole,) = context.measured.loc[context.measured["pass_id"] == 1, "duration_ns"]
    assert content.title == "What do the devices do during token 1?" and not content.empty
    assert (content.answer[0].value, content.answer[0].words) == (took / whole, f"{DEVICES[role]} computing")
    report = render_report(run, tables, citable=None)
    assert "timeline" in {page.key for page in report.pages}


def test_operations_that_overlap_are_said(tmp_path: Path) -> None:
    document = profiles.profile()
    record = next(each for each in document["records"] if each["tensor_name"] == "Qcur-0")
    record["duration_ns"] += profiles.GAP_NS + 500
    trace = read(profiles.scheduler(tmp_path, document))
    exact = trace.tables["device_ops"].set_index(["pass_id", "node"])["exact"]
    assert not exact[0, 3] and exact.sum() == len(exact) - 1
    assert "1 operation began before others" in checks(trace)["op_times"].found
    assert "CPU by its first thread" in checks(trace)["op_times"].detail
    whole = read(profiles.scheduler(tmp_path))
    assert "CPU by its first thread" in checks(whole)["op_times"].found


def test_a_profile_without_names_of_tensors_has_the_same_passes(tmp_path: Path) -> None:
    trace = read(profiles.scheduler(tmp_path, profiles.profile(named=False)))
    assert trace.tables["passes"]["n_tokens"].tolist() == [*TOKENS]
    assert checks(trace)["names_whole"].state == "warning"


def test_graphs_that_nsys_traced_as_a_whole_fail(tmp_path: Path) -> None:
    more = [
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, graphId INT)",
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2, 3)",
    ]
    found = checks(read(profiles.nsys(tmp_path, more=more)))["trace_complete"]
    assert found.state == "failed" and "--cuda-graph-trace=node" in found.detail


def test_kernels_without_a_time_fail(tmp_path: Path) -> None:
    more = ["INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 0, 0, 1, 7, 1, 7, 40, 40, 1, NULL)"]
    assert checks(read(profiles.nsys(tmp_path, more=more)))["zero_records"].state == "failed"


@pytest.mark.parametrize("first", [4, 40])
def test_a_prompt_of_many_tokens_is_known_by_its_kernel(first: int, tmp_path: Path) -> None:
    """Kernels for up to eight tokens say how many; of more it is known that they are several."""
    kernel = f"void mul_mat_vec_q<(ggml_type)2, (int){first}>()" if first < 9 else "void mul_mat_q<(ggml_type)2, 64>()"
    more = [f"UPDATE StringIds SET value = '{kernel}' WHERE value LIKE '%mul_mat_vec_q%(int)3%'"]
    passes = read(profiles.nsys(tmp_path, more=more)).tables["passes"]
    assert passes["kind"].tolist() == ["prompt", "generate", "generate"]
    assert passes["n_tokens"].fillna(-1).tolist() == [first if first < 9 else -1, 1, 1]


def test_without_a_copy_to_the_host_all_is_one_pass(tmp_path: Path) -> None:
    trace = read(profiles.nsys(tmp_path, more=["DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY"]))
    assert len(trace.tables["passes"]) == 1


@pytest.mark.parametrize(
    ("kernel", "short", "op"),
    [
        ("void mul_mat_vec_q<(ggml_type)12, (int)1, (bool)0>(const void *)", "mul_mat_vec_q", "MUL_MAT"),
        ("void k_bin_bcast<&op_mul, float, float>(float *)", "k_bin_bcast", "MUL"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16>(Params)",
            "cutlass_80_tensorop_s16816gemm_f16",
            "MUL_MAT",
        ),
        ("quantize_q8_1", "quantize_q8_1", "MUL_MAT"),
        ("kernel_mul_mv_id_q4_0_f32_8x_flat", "kernel_mul_mv_id_q4_0_f32_8x_flat", "MUL_MAT_ID"),
        ("kernel_rms_norm_mul", "kernel_rms_norm_mul", "RMS_NORM"),
        ("kernel_rope_neox_f32", "kernel_rope_neox_f32", "ROPE"),
        ("mystery<int>(float)", "mystery", None),
        ("<>", "<>", None),
        ("_Z13mul_mat_vec_qIL9ggml_type12ELi1EEvPKvS2_Pfiii", "mul_mat_vec_q", "MUL_MAT"),
        ("_ZL11k_bin_bcastIXadL_ZL6op_addffEEfffEvPKfS1_Pfiiii", "k_bin_bcast", "ADD"),
        (
            "_ZN7cutlass7Kernel2I51cutlass_80_tensorop_f16_s16816gemm_f16EEvNT_6ParamsE",
            "cutlass_80_tensorop_f16_s16816gemm_f16",
            "MUL_MAT",
        ),
        ("_Z", "_Z", None),
        ("_Z99short", "short", None),
    ],
)
def test_kernels_tell_their_operation(kernel: str, short: str, op: str | None) -> None:
    assert short_name(kernel) == short and op_of(kernel) == op


def endless(folder: Path, table: str) -> Path:
    """An export whose kernels are a view that never ends."""
    rows = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
    columns = "start, start AS end, 0 AS deviceId, 1 AS demangledName, 7 AS globalPid"
    made = f"CREATE VIEW {table} AS {rows} SELECT {columns} FROM n"
    return profiles.nsys(folder, more=["DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", made])


BROKEN: dict[str, tuple[Callable[[Path], Path], str]] = {
    "csv alone": (lambda folder: profiles.opencl(folder, events=False), "put the cl_trace.json beside it"),
    "cut line": (
        lambda folder: profiles.opencl(folder, lines={3: "Qcur-0,kernel_mul"}),
        "line 4: expected six columns",
    ),
    "no time": (
        lambda folder: profiles.opencl(folder, lines={3: "a,kernel_mul,nan,1x1x1,1x1x1,1x1x1x1"}),
        "line 4: expected a time in ms",
    ),
    "rows beyond all": (
        lambda folder: profiles.opencl(
            folder, lines={1: "norm-0,kernel_rms_norm,0.012,1x1x1,1x1x1,576x3000000000x1x1"}
        ),
        "line 2: a result has 3000000000 rows",
    ),
    "other kernel": (
        lambda folder: profiles.opencl(folder, lines={3: "a,kernel_x,0.012,1x1x1,1x1x1,1x1x1x1"}),
        "the two files are of different runs",
    ),
    "other time": (
        lambda folder: profiles.opencl(folder, lines={1: "norm-0,kernel_rms_norm,9.5,1x1x1,1x1x1,1x1x1x1"}),
        "took 9,500,000 ns, but 12,000",
    ),
    "no backend": (lambda folder: profiles.scheduler(folder, {"backends": [], "records": []}), "lists no backend"),
    "no record": (lambda folder: profiles.scheduler(folder, profiles.profile() | {"records": []}), "no operation"),
    "record is a list": (lambda folder: _changed(folder, lambda record: []), "record 2: expected an operation"),
    "backend 7": (lambda folder: _changed(folder, lambda r: r | {"backend_id": 7}), "record 2: expected backend_id"),
    "negative": (lambda folder: _changed(folder, lambda r: r | {"start_ns": -1}), "record 2: expected start_ns"),
    "flag": (lambda folder: _changed(folder, lambda r: r | {"duration_ns": True}), "record 2: expected duration_ns"),
    "number as name": (lambda folder: _changed(folder, lambda r: r | {"name": 1}), "record 2: expected a name"),
    "no kernels": (
        lambda folder: profiles.nsys(folder, more=["DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL"]),
        "without kernels",
    ),
    "a view": (lambda folder: endless(folder, "CUPTI_ACTIVITY_KIND_KERNEL"), "that computes"),
    "a view of another case": (lambda folder: endless(folder, "cupti_activity_kind_kernel"), "that computes"),
    "computed names": (
        lambda folder: profiles.nsys(
            folder,
            more=[
                "DROP TABLE StringIds",
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS (hex(zeroblob(100000000))))",
                "INSERT INTO StringIds (id) VALUES (40)",
            ],
        ),
        "columns that are computed",
    ),
    "text for a time": (
        lambda folder: profiles.nsys(
            folder, more=["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x' WHERE start < 6e6"]
        ),
        "expected a whole number, found 'x'",
    ),
    "two processes": (
        lambda folder: profiles.nsys(
            folder, more=["UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = 8 WHERE start < 6e6"]
        ),
        "several processes",
    ),
}


def _changed(folder: Path, change: Callable[[Any], Any]) -> Path:
    """A profile with another record 2."""
    document = profiles.profile()
    document["records"][2] = change(document["records"][2])
    return profiles.scheduler(folder, document)


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files_are_refused_with_the_place(case: str, tmp_path: Path) -> None:
    make, message = BROKEN[case]
    with pytest.raises(TraceFormatError, match=message):
        read(make(tmp_path))


def test_a_database_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = profiles.nsys(tmp_path)
    path.write_bytes(path.read_bytes()[:9_000])
    with pytest.raises(TraceFormatError, match=r"cannot be read as SQLite|without kernels"):
        read(path)


def test_another_database_beside_a_trace_is_none(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "mlflow.db") as database:
        database.execute("CREATE TABLE runs (id INT)")
    profiles.opencl(tmp_path)
    assert found_in([tmp_path]).role == "opencl"
    with pytest.raises(TraceFormatError, match="none of the known formats"):
        found_in([tmp_path / "mlflow.db"])


def test_time_spent_on_a_database_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = profiles.nsys(tmp_path)
    monkeypatch.setattr(nsys, "MOST_STEPS", 2)
    with nsys._opened("it", path) as database, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        database.execute(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
        ).fetchall()


def test_copies_within_a_device_are_none_between_backends(tmp_path: Path) -> None:
    start = profiles.times()[0][1][0]
    more = [
        f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({start}, {start + 9}, 0, 7, 64, {kind})" for kind in (8, 10)
    ]
    copies = read(profiles.nsys(tmp_path, more=more)).tables["copies"]
    assert copies.loc[copies["size_bytes"] == 64, "source"].tolist() == ["not recorded"]


def test_a_tensor_of_two_kernels_begins_one_pass(tmp_path: Path) -> None:
    path = profiles.opencl(tmp_path)
    lines = path.read_text().splitlines()
    events = (tmp_path / "cl_trace.json").read_text().splitlines()
    twice, marks = [lines[0]], [events[0]]
    for n, line in enumerate(lines[1:]):
        again = 2 if line.startswith("norm-0,") else 1
        twice += [line] * again
        marks += events[1 + 4 * n : 5 + 4 * n] * again
    path.write_text("\n".join(twice) + "\n")
    (tmp_path / "cl_trace.json").write_text("\n".join([*marks, "]"]) + "\n")
    assert len(read(path).tables["passes"]) == len(TOKENS)


def test_an_export_is_not_written_to(tmp_path: Path) -> None:
    path = profiles.nsys(tmp_path)
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == [path.name]


def test_sums_by_operation_are_those_of_sql(tmp_path: Path) -> None:
    """The time of each operation against a query of the database itself."""
    path = profiles.nsys(tmp_path)
    trace = read(path)
    nodes = trace.tables["graph_nodes"].set_index(["graph", "node"])["name"]
    graph = trace.tables["passes"].set_index("pass_id")["graph"]
    sums: dict[str, int] = defaultdict(int)
    for row in trace.tables["ops"].itertuples():
        sums[nodes[graph[row.pass_id], row.node]] += row.end_ns - row.begin_ns
    kernels = "CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName"
    query = f"SELECT value, sum(end - start) FROM {kernels} GROUP BY id"
    with sqlite3.connect(path) as database:
        wanted: dict[str, int] = defaultdict(int)
        for name, ns in database.execute(query):
            wanted[short_name(name)] += ns
    assert sums == wanted


def test_names_are_kept_as_they_are(tmp_path: Path) -> None:
    document = profiles.profile()
    for record in document["records"]:
        record["tensor_name"] = record["tensor_name"].replace("ffn_out-1", "<b>ffn, “out”-1")
    names = read(profiles.scheduler(tmp_path, json.loads(json.dumps(document)))).tables["graph_nodes"]["name"]
    assert "<b>ffn, “out”-1" in set(names)
