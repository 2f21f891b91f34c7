"""A real Dask scheduler and its workers, for tests of `tracegen run --executor dask://…`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


class Workers:
    """A scheduler at an address of this machine, and worker processes, each with a cache of its own."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        described = folder / "scheduler.json"
        options = ["--port", "0", "--host", host, "--no-dashboard", "--scheduler-file", str(described)]
        self.start("dask_scheduler", *options)
        until = time.monotonic() + 60
        while not described.exists() and time.monotonic() < until:
            time.sleep(0.1)
        self.address = json.loads(described.read_text())["address"].removeprefix("tcp://")

    def start(
        self, kind: str, *options: str, environment: dict[str, str] | None = None, before: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [*before, sys.executable, "-m", f"distributed.cli.{kind}", *options], stdout=log, stderr=log,
                cwd=self.folder, env={**os.environ, **(environment or {})},
            )  # fmt: skip
        self.processes.append(process)
        return process

    def worker(self, *more: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a worker; `before`: words in front of its command, such as `ip netns exec NAME`."""
        name = f"w{len(self.processes)}"
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder / name)]
        options += ["--resources", "tracegen=1"]
        cache = {"XDG_CACHE_HOME": str(self.folder / "cache" / name)}
        return self.start("dask_worker", f"tcp://{self.address}", *options, *more, environment=cache, before=before)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
