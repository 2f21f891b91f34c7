"""The entry point of the console script. Ctrl-C ends it with one line, without a traceback, even during imports."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run one command; returns its exit code."""
    gc.set_threshold(100_000)  # importing pandas makes as many lasting objects; collecting earlier costs 0.1 s
    try:
        from tracegen import cli
    except KeyboardInterrupt:
        print("tracegen: interrupted", file=sys.stderr)
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
