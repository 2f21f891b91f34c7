"""`tracegen serve`: show the site while it is written; runs, settings, journal and templates are watched."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from mkdocs.commands.serve import serve

from tracegen.commands.build import loaded, mkdocs_errors
from tracegen.errors import EnvironmentFailure, SettingsError

NAME = "serve"
HELP = "Serve the site on this machine and rebuild it when runs, settings, journal or templates change."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tracegen serve`."""
    parser.add_argument("-f", "--config", metavar="FILE", default="mkdocs.yml", help="the site's settings")
    parser.add_argument("-a", "--address", metavar="HOST:PORT", default="127.0.0.1:8000", help="where to listen")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    host, colon, port = args.address.rpartition(":")
    if not host or not colon or not port.isdigit() or int(port) > 65535:
        raise SettingsError(f"--address {args.address!r}: write HOST:PORT, for example 127.0.0.1:8000")
    with mkdocs_errors():
        loaded(Path(args.config), strict=False)
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        try:
            serve(config_file=args.config, dev_addr=args.address, open_in_browser=args.open)
        except OSError as error:
            raise EnvironmentFailure(f"{args.address}: cannot listen there: {error.strerror or error}") from error
    return 0
