"""`tracegen serve`: serves the site, and rebuilds it when runs, settings, journal or templates change."""

import ipaddress
import logging
import socket
import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import click

from tracegen.cli.arguments import Verb
from tracegen.cli.commands.build import (
    chosen_config,
    config_option,
    full_disk_named,
    loaded,
    mkdocs_errors,
    refuse_odd_date,
)
from tracegen.contract.errors import SettingsError, os_errors


@click.command("serve", cls=Verb)
@config_option
@click.option("-a", "--address", metavar="HOST:PORT", default="127.0.0.1:8000", show_default=True)
@click.option("--open", "open_", is_flag=True)
def command(config: Path | None, address: str, open_: bool) -> int:
    """Serve until interrupted."""
    host, colon, port = address.rpartition(":")
    if not host or not colon or not (port.isascii() and port.isdecimal()) or len(port) > 5 or int(port) > 65535:
        raise SettingsError(f"--address: is {address!r}; write HOST:PORT, for example 127.0.0.1:8000")
    place = _refuse_taken(host.strip("[]"), int(port), address)
    refuse_odd_date()
    with mkdocs_errors():
        from mkdocs.commands.serve import serve

        file = chosen_config(config)
        loaded(file, strict=False)
        if not ipaddress.ip_address(place).is_loopback:
            print(
                f"tracegen: {address}: whoever reaches this machine over the network can read drafts", file=sys.stderr
            )
        logging.basicConfig(level=logging.INFO, format="%(message)s")
        with _listening(address), full_disk_named(Path(tempfile.gettempdir())):
            serve(config_file=str(file), dev_addr=address, open_in_browser=open_)
    return 0


def _listening(address: str) -> AbstractContextManager[None]:
    return os_errors(f"{address}: cannot listen there", advice="choose another --address")


def _refuse_taken(host: str, port: int, address: str) -> str:
    """The IP address to listen at. Raises EnvironmentFailure, before the site is built, when that cannot be done."""
    try:
        with _listening(address):
            family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
                trial.bind(place)
        return str(place[0]).partition("%")[0]
    except UnicodeError as error:
        raise SettingsError(f"--address: {host!r} is not a name of a machine: {error}") from error
