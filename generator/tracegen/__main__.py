"""Where the console script begins: Ctrl-C while modules load, too, ends in one line and not in a traceback."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run one command; returns its exit code."""
    gc.set_threshold(100_000)  # pandas makes as many objects that stay: looking through them again is 0.1 s of a start
    try:
        from tracegen import cli
    except KeyboardInterrupt:
        print("tracegen: interrupted", file=sys.stderr)
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
