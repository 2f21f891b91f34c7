"""Servers that compute for others over RPC, on this machine."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "ggml-rpc-server"


@dataclass(frozen=True)
class Server:
    """A server that runs: its address, and the folder of its trace."""

    address: str
    trace: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def served(programs: Path, trace: Path) -> Iterator[Server]:
    """A server of one thread during the block; it writes its trace into a new folder."""
    port = free_port()
    trace.mkdir()
    process = subprocess.Popen(
        [programs / PROGRAM, "-H", "127.0.0.1", "-p", str(port), "-t", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TENSOR_TRACE_DIR": str(trace)},
    )
    try:
        for _ in range(100):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield Server(f"127.0.0.1:{port}", trace, process)
    finally:
        process.kill()
        process.wait()
