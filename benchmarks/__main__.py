"""`python -m benchmarks [--quick] [--only NAME]`: run the benchmarks; exit code 1 when a limit is missed."""

import argparse
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version

from benchmarks import (
    bench_advice,
    bench_analyses,
    bench_browser,
    bench_build,
    bench_export,
    bench_import,
    bench_observer,
    bench_pages,
    bench_read,
    bench_scale,
    bench_start,
    bench_tokens,
    bench_tracer,
)
from benchmarks.result import Result, table
from tracegen.contract.errors import TracegenError
from tracegen.storing.execute import output_of
from tracegen.storing.native import read_upstream
from tracegen.storing.resources import folder

BENCHMARKS: tuple[tuple[str, Callable[[bool], list[Result]]], ...] = (
    ("tracer", bench_tracer.run),
    ("tokens", bench_tokens.run),
    ("observer", bench_observer.run),
    ("advice", bench_advice.run),
    ("read", bench_read.run),
    ("analyses", bench_analyses.run),
    ("build", bench_build.run),
    ("pages", bench_pages.run),
    ("browser", bench_browser.run),
    ("scale", bench_scale.run),
    ("start", bench_start.run),
    ("import", bench_import.run),
    ("export", bench_export.run),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: wider intervals")
    parser.add_argument("--only", choices=[name for name, _ in BENCHMARKS], help="run this one alone")
    args = parser.parse_args()
    print(_machine(), flush=True)
    missed = False
    for name, run in BENCHMARKS:
        if args.only in (None, name):
            try:
                results = run(args.quick)
            except TracegenError as error:
                print(f"benchmarks: {name}: {error}", file=sys.stderr)
                return error.exit_code
            print(f"\n## {name}\n\n{table(results)}", flush=True)
            missed |= any(result.missed for result in results)
    return int(missed)


def _machine() -> str:
    """Machine, kernel, compiler and versions, as a Markdown list."""
    upstream = read_upstream(folder("native"))
    compiler = (output_of(["cc", "--version"]) or "none").splitlines()[0]
    packages = ("tracegen", "numpy", "pandas", "mkdocs", "mkdocs-material")
    lines = (
        f"CPU: {_cpu()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f} before",
        f"kernel: {platform.system()} {platform.release()} {platform.machine()}",
        f"compiler: {compiler}",
        f"Python {platform.python_version()}, " + ", ".join(f"{name} {version(name)}" for name in packages),
        f"llama.cpp: {upstream.package} {upstream.version}",
    )
    return "\n".join(f"- {line}" for line in lines)


def _cpu() -> str:
    info = output_of(["grep", "-m1", "model name", "/proc/cpuinfo"]) or ""
    return info.partition(":")[2].strip() or platform.processor() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
