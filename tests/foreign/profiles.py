"""Profiles as three profilers write them, made by hand from the layouts that their sources or manuals give.

All are of one small model: two layers, a prompt of three tokens, two generated tokens after its first.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

START_NS = 5_000_000
TOKENS = (3, 1, 1)
# Tensor, kernel of OpenCL, kernel of CUDA, ggml's operation, ns of one token: what the device computes in a pass.
OPS = (
    ("norm-0", "kernel_rms_norm", "void rms_norm_f32<(int)256, (bool)0>(const float *, float *)", "RMS_NORM", 4_000),
    ("Qcur-0", "kernel_mul_mv_q4_0_f32", "void mul_mat_vec_q<(ggml_type)2, (int)1>(const void *)", "MUL_MAT", 30_000),
    ("kqv_out-0", "flash_attn_f32_f16_q1", "void flash_attn_ext_f16<64, 64>(float *)", "FLASH_ATTN_EXT", 12_000),
    ("l_out-0", "kernel_add", "void k_bin_bcast<&op_add, float, float>(float *)", "ADD", 2_000),
    (
        "ffn_out-1",
        "kernel_mul_mv_q4_0_f32",
        "void mul_mat_vec_q<(ggml_type)2, (int)1>(const void *)",
        "MUL_MAT",
        90_000,
    ),
    (
        "result_output",
        "kernel_mul_mv_q6_K_f32",
        "void mul_mat_vec_q<(ggml_type)14, (int)1>(const void *)",
        "MUL_MAT",
        60_000,
    ),
)
GAP_NS, BETWEEN_NS = 1_000, 200_000
LOGITS_BYTES = 4 * 1_000


def times() -> list[list[tuple[int, int]]]:
    """Begin and end of each operation, by pass."""
    at, passes = START_NS, []
    for n_tokens in TOKENS:
        rows = []
        for *_, one_ns in OPS:
            rows.append((at, at + one_ns * n_tokens))
            at = rows[-1][1] + GAP_NS
        passes.append(rows)
        at += BETWEEN_NS
    return passes


def opencl(folder: Path, *, lines: Mapping[int, str] = {}, events: bool = True) -> Path:
    """cl_profiling.csv, with other `lines` by number, and cl_trace.json."""
    rows = ["op name, kernel name, exec duration (ms), global size, local size, output size"]
    marks = ["["]
    for n_tokens, of_pass in zip(TOKENS, times(), strict=True):
        for (tensor, kernel, *_), (begin, end) in zip(OPS, of_pass, strict=True):
            rows.append(f"{tensor},{kernel},{(end - begin) / 1e6:f},64x1x1,64x1x1,576x{n_tokens}x1x1")
            for lane, phase, ns in (
                ("Host", "B", begin - 9_000),
                ("Host", "E", begin - 2_000),
                ("Device", "B", begin),
                ("Device", "E", end),
            ):
                event = f'"name": "{kernel}", "cat": "OpenCL", "ph": "{phase}", "ts": {ns // 1000}'
                marks.append(f'{{{event}, "pid": "", "tid": "{lane}"}},')
    for number, line in lines.items():
        rows[number] = line
    path = folder / "cl_profiling.csv"
    path.write_text("\n".join(rows) + "\n")
    if events:
        (folder / "cl_trace.json").write_text("\n".join([*marks, "]"]) + "\n")
    return path


def profile(*, named: bool = True) -> dict[str, Any]:
    """A profile of the scheduler: the lookup on the CPU, all else on CUDA0, inputs and results copied."""
    records = []
    for n_tokens, of_pass in zip(TOKENS, times(), strict=True):
        begin, end = of_pass[0][0], of_pass[-1][1]
        lookup = _record("GET_ROWS", "inp_embd", 1, 0, begin - 9_000, 3_000, n_tokens)
        lookup |= {"ne_src0": [576, 1_000, 1, 1], "ne_src1": [n_tokens, 1, 1, 1]}
        copies = [
            _record("copy_H2D", "inp_embd", 0, 1, begin - 5_000, 2_000, n_tokens) | {"type": 1},
            _record("copy_D2H", "result_output", 1, 2, end + 1_000, 4_000, 1) | {"type": 1},
        ]
        rows = [
            _record(op, tensor, 0, 1, first, last - first, n_tokens)
            for (tensor, _, _, op, _), (first, last) in zip(OPS, of_pass, strict=True)
        ]
        records += [copies[0], copies[1], *rows, lookup]  # backends hand over their records after a pass, one by one
    if not named:
        for record in records:
            del record["tensor_name"]
    backends = [
        {"id": 0, "name": "CUDA0", "device": "NVIDIA H100", "device_type": 1},
        {"id": 1, "name": "CPU", "device": "CPU", "device_type": 0},
    ]
    return {"version": 2, "profiler": "ggml", "backends": backends, "records": records}


def _record(op: str, tensor: str, backend: int, split: int, begin: int, length: int, rows: int) -> dict[str, Any]:
    zero = [0, 0, 0, 0]
    return {
        "type": 0,
        "name": op,
        "backend_id": backend,
        "split_id": split,
        "start_ns": begin,
        "duration_ns": length,
        "bytes": 4 * 576 * rows,
        "extra": None,
        "ne_src0": [576, 576, 1, 1],
        "ne_src1": [576, rows, 1, 1],
        "ne_src2": zero,
        "tensor_name": tensor,
    }


def scheduler(folder: Path, document: object = None) -> Path:
    """A profile of the scheduler as a file."""
    path = folder / "profile.json"
    path.write_text(json.dumps(profile() if document is None else document))
    return path


def nsys(folder: Path, *, more: Sequence[str] = (), pid: int = 7) -> Path:
    """An export of Nsight Systems, with `more` statements of SQL: the load's copies, then three passes."""
    path = folder / "report.sqlite"
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
            contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT, globalPid INT, demangledName INT NOT NULL,
            shortName INT NOT NULL, gridX INT NOT NULL, graphNodeId INT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
            streamId INT NOT NULL, bytes INT NOT NULL, copyKind INT NOT NULL);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT, localTime TEXT);
        """
    )
    names = [row[2].replace("(int)1", f"(int){n}") if "vec" in row[2] else row[2] for row in OPS for n in (1, 3)]
    kernels = {kernel: number for number, kernel in enumerate(dict.fromkeys(names), 40)}
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(n, name) for name, n in kernels.items()])
    copy = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 7, ?, ?)"
    database.execute(copy, (1_000, 900_000, 80_000_000, 1))
    for n_tokens, of_pass in zip(TOKENS, times(), strict=True):
        database.execute(copy, (of_pass[0][0] - 5_000, of_pass[0][0] - 3_000, 4 * 576 * n_tokens, 1))
        for (_, _, kernel, *_), (begin, end) in zip(OPS, of_pass, strict=True):
            number = kernels[kernel.replace("(int)1", f"(int){n_tokens}") if "vec" in kernel else kernel]
            row = (begin, end, 0, 1, 7, 1, pid, number, number, 1, None)
            database.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({', '.join('?' * 11)})", row)
        database.execute(copy, (of_pass[-1][1] + 1_000, of_pass[-1][1] + 5_000, LOGITS_BYTES, 2))
    for statement in more:
        database.execute(statement)
    database.commit()
    database.close()
    return path
