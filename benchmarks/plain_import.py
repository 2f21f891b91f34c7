"""`python -m benchmarks.plain_import TRACE OUT N`: the way without arrays, as a baseline for `tracegen import`.

Reads N records of 1,024 bytes of a tensor_trace.bin with `struct`, one at a time, and writes the exported JSON of the
older tools. Prints the seconds.
"""

import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

from tracegen.foreign.tensor_trace.layouts import OPS

HEAD = struct.Struct("<QIHHBBB5x128s")
OPERAND = struct.Struct("<128sQIHBxQI4x")
EXPERTS = struct.Struct("<16iB")


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode()


def _layer(number: int) -> int | None:
    return None if number == 65535 else number


def main(trace: Path, out: Path, limit: int) -> None:
    begin = time.perf_counter()
    entries: list[dict[str, Any]] = []
    first = 0
    with trace.open("rb") as file:
        while len(entries) < limit and len(record := file.read(1024)) == 1024:
            time_ns, token, layer, thread, op, phase, n, name = HEAD.unpack_from(record)
            if not time_ns:
                break
            first = first or time_ns
            sources = []
            for i in range(n):
                text, address, size, of_layer, memory, place, _ = OPERAND.unpack_from(record, 152 + i * 160)
                where = {"disk_offset": place} if memory == 0 else {"buffer_id": place}
                sources.append(
                    {
                        "name": _text(text),
                        "tensor_ptr": hex(address),
                        "size_bytes": size,
                        "layer_id": _layer(of_layer),
                        "memory_source": ("DISK", "BUFFER")[memory],
                        **where,
                    }
                )
            *ids, n_ids = EXPERTS.unpack_from(record, 792)
            entries.append(
                {
                    "entry_id": len(entries),
                    "timestamp_ns": time_ns,
                    "timestamp_relative_ms": round((time_ns - first) / 1e6, 3),
                    "token_id": token,
                    "layer_id": _layer(layer),
                    "thread_id": thread,
                    "phase": ("PROMPT", "GENERATE")[phase],
                    "operation_type": OPS[op],
                    "dst_name": _text(name),
                    "num_sources": n,
                    "sources": sources,
                    "expert_ids": ids[:n_ids],
                    "num_experts": n_ids,
                }
            )
    metadata = {"total_entries": len(entries), "timestamp_start_ns": first, "format_version": "1024-byte"}
    with out.open("w", encoding="utf-8") as file:
        json.dump({"token_id": 0, "metadata": metadata, "entries": entries}, file, indent=2)
    print(json.dumps({"seconds": time.perf_counter() - begin, "records": len(entries)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
