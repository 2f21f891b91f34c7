"""`python -m tests.fuzz READER SECONDS`: bytes that reach new code of a reader, until one does what it should not.

Needs atheris (`pip install atheris`), which no test needs: a finding becomes a test of its own. Its bytes are
kept in the folder that is named at the end; `python -m tests.fuzz native FILE` tries them again.
"""

import argparse
import importlib
import importlib.util
import random
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

READERS = ("native", "gguf", "ggmlviz", "foreign", "records")
INSTRUMENTED = [
    "tracegen.foreign",
    "tracegen.readers",
    "tracegen.contract.documents",
    "tracegen.contract.shapes",
    "tracegen.contract.settings",
    "tracegen.contract.matrix",
]
NUMBERS = (0, 1, 255, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 53, 1 << 62, (1 << 63) - 1, (1 << 64) - 1)
MOST_MEMORY_MB, MOST_SECONDS = 4096, 30  # of one input


def with_another_number(data: bytes, seed: int) -> bytes:
    """One number of 1, 2, 4 or 8 bytes becomes a neighbour, one from elsewhere, or one at a limit; the rest stays."""
    chosen = random.Random(seed)
    size = chosen.choice((1, 2, 4, 8))
    at, other = (chosen.randrange(len(data) - size + 1) for _ in range(2))
    before, elsewhere = (int.from_bytes(data[place : place + size], "little") for place in (at, other))
    value = chosen.choice((before + 1, before - 1, elsewhere, chosen.choice(NUMBERS)))
    return data[:at] + (value % (1 << 8 * size)).to_bytes(size, "little") + data[at + size :]


def fuzz(reader: str, seconds: int, folder: Path) -> None:
    """Fuzz for so long; ends the process, with exit code 0 when nothing was found."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        target = importlib.import_module(f"tests.fuzz.{reader}")
    seeds = folder / "seeds"
    seeds.mkdir()
    for i, data in enumerate(target.seeds()):
        (seeds / f"{i:04d}").write_bytes(data)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        if seed % 2 and len(data) >= 8:
            return with_another_number(data, seed)
        return bytes(atheris.Mutate(data, most))

    options = [
        f"-max_total_time={seconds}",
        f"-max_len={target.LONGEST}",
        f"-rss_limit_mb={MOST_MEMORY_MB}",
        f"-timeout={MOST_SECONDS}",
        f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
    ]
    print(f"findings will be kept in {folder}", flush=True)
    atheris.Setup([sys.argv[0], *options, str(seeds)], target.check, custom_mutator=mutated)
    atheris.Fuzz()


def main() -> None:
    """Fuzz, or try one finding again."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("what", metavar="SECONDS|FILE", help="how long to look, or bytes to try again")
    args = parser.parse_args()
    warnings.simplefilter("error")  # as in the tests
    if not args.what.isdecimal():
        target: ModuleType = importlib.import_module(f"tests.fuzz.{args.reader}")
        target.check(Path(args.what).read_bytes())
        return
    if importlib.util.find_spec("atheris") is None:
        sys.exit("atheris is not installed: pip install atheris")
    fuzz(args.reader, int(args.what), Path(tempfile.mkdtemp(prefix=f"fuzz-{args.reader}-")))


if __name__ == "__main__":
    main()
