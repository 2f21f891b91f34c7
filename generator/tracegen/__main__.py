"""The entry point of the console script. Ctrl-C ends it with one line, without a traceback, even during imports."""

import gc
import sys


def main() -> int:
    """Run one command; returns its exit code."""
    try:
        from tracegen.storing import signals

        signals.handle_until_exit()
        gc.set_threshold(100_000)  # importing pandas makes as many lasting objects; collecting earlier costs 0.1 s
        from tracegen.cli import main as cli

        return cli.main()
    except KeyboardInterrupt:  # by Python's own handler, before ours was there
        print("tracegen: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
