"""Where the console script begins: Ctrl-C while modules load, too, ends in one line and not in a traceback."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command; returns its exit code."""
    try:
        from tracegen import cli
    except KeyboardInterrupt:
        print("tracegen: interrupted", file=sys.stderr)
        return 130
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
