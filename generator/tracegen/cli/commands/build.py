"""`tracegen build`: builds the site from the journal, the published versions and the newest drafts."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.contract.errors import FULL, CheckError, EnvironmentFailure, SettingsError, TracegenError, file_of
from tracegen.contract.text import visible
from tracegen.storing import locks
from tracegen.storing.resources import LOCAL

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

CONFIG = Path("mkdocs.yml")
DEFAULT = LOCAL / "mkdocs.yml"  # written where a project has none

config_option = click.option(
    "-f", "--config", metavar="FILE", type=PATH, help=f"The settings of the site (default {CONFIG})."
)


@click.command("build", cls=Verb)
@config_option
@click.option("--strict", is_flag=True)
@click.option("--verify", is_flag=True)
def command(config: Path | None, strict: bool, verify: bool) -> int:
    """Build the site, and print the file to open."""
    print(build_site(chosen_config(config), strict=strict, verify=verify))
    return 0


def chosen_config(named: Path | None) -> Path:
    """The settings file of the site: `named`, or mkdocs.yml here, or else a new one with tracegen's defaults.

    Raises SettingsError when there is neither a settings file nor a folder `experiments` or `journal`.
    """
    if named is not None or CONFIG.is_file():
        return named or CONFIG
    if not (Path("experiments").is_dir() or Path("journal").is_dir()):
        raise SettingsError(
            f"{CONFIG}: is missing; go to the folder of {CONFIG}, name it with -f, or begin a project: tracegen init"
        )
    print(
        f"no {CONFIG} here: the site is built with tracegen's default settings; `tracegen init` writes them",
        file=sys.stderr,
    )
    return _default_config()


def _default_config() -> Path:
    """Write a settings file that inherits tracegen's, and a front page if there is no journal; returns its path."""
    from tracegen.storing.resources import default_config, folder
    from tracegen.storing.store import write_text

    hidden, journal = DEFAULT.parent, "../journal"
    if not Path("journal").is_dir():
        front = (folder("templates") / "project" / "index.md").read_text(encoding="utf-8")
        text = "".join(line for line in front.splitlines(True) if "DATE" not in line)
        write_text(hidden / "journal" / "index.md", text)
        journal = "journal"
    # Relative paths count from the folder `hidden`.
    settings = {"INHERIT": str(default_config()), "docs_dir": journal, "site_dir": "../site"}
    write_text(DEFAULT, "".join(f"{key}: {json.dumps(text, ensure_ascii=False)}\n" for key, text in settings.items()))
    return DEFAULT


def build_site(config_file: Path, *, strict: bool = False, verify: bool = False) -> Path:
    """Build the site, and return the path of its front page: without a journal's, that of the experiments.

    Raises TracegenError when it cannot be built.
    """
    from mkdocs.commands.build import build

    refuse_odd_date()
    with mkdocs_errors(), mkdocs_messages():
        config = loaded(config_file, strict=strict)
        config.plugins["tracegen"].config["verify"] = verify or config.plugins["tracegen"].config["verify"]
        with _alone(Path(config.site_dir)), full_disk_named(Path(config.site_dir)):
            build(config)
    front = Path(config.site_dir) / "index.html"
    return front if front.is_file() else front.parent / "experiments" / front.name


@contextmanager
def full_disk_named(site: Path) -> Iterator[None]:
    """During the block, a full disk becomes an EnvironmentFailure that names the file, or `site`: MkDocs names none."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise EnvironmentFailure(
            f"{file_of(error) or site}: cannot be written: {error.strerror}; free space"
        ) from error


@contextmanager
def _alone(site: Path) -> Iterator[None]:
    """During the block, no other `tracegen build` writes the site. Waits while another one does, and says who."""
    with ExitStack() as stack:
        while True:
            site.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locks.alone(site, partial(_say_who_builds, site)))
                break
            except FileNotFoundError:  # a build that failed has removed it
                continue
        try:
            yield
        except BaseException:
            with suppress(OSError):
                site.rmdir()  # an empty one, made above
            raise


def _say_who_builds(site: Path, who: str) -> None:
    print(f"wait for {who}, which builds {visible(str(site))}", file=sys.stderr, flush=True)


def refuse_odd_date() -> None:
    """Raise SettingsError when SOURCE_DATE_EPOCH, which MkDocs takes as the date of the site, is no time."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not (epoch.isascii() and epoch.isdecimal() and len(epoch) <= 11):
        raise SettingsError(
            f"SOURCE_DATE_EPOCH: is {epoch!r:.80}; must be seconds since 1970, of at most 11 digits, or unset"
        )


def loaded(config_file: Path, *, strict: bool) -> MkDocsConfig:
    """Load the settings of the site. Raises SettingsError when they are missing, broken, or lack the plugin."""
    if not config_file.is_file():
        raise SettingsError(f"{config_file}: is missing; go to the folder of mkdocs.yml or name it with -f")
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort, ConfigurationError

    try:
        config = load_config(str(config_file), strict=strict or None)
    except (ConfigurationError, Abort) as error:
        raise SettingsError(f"{config_file}: MkDocs cannot use it: {error}; correct the file") from error
    except (RecursionError, ValueError) as error:  # YAML has no limit of nesting, Python one of digits
        raise SettingsError(f"{config_file}: MkDocs cannot read it: {error}; correct the file") from error
    if "tracegen" not in config.plugins:
        raise SettingsError(f"{config_file}: lacks the plugin of tracegen; add `tracegen` to `plugins`")
    return config


@contextmanager
def mkdocs_messages() -> Iterator[None]:
    """During the block, print MkDocs's warnings, as its own command does."""
    logger, handler = logging.getLogger("mkdocs"), logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    # An error that stops a build is also raised, and cli.main prints it: do not print it twice.
    handler.addFilter(lambda record: (record.name, record.funcName) != ("mkdocs.commands.build", "build"))
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def mkdocs_errors() -> Iterator[None]:
    """During the block, turn errors of MkDocs into TracegenErrors, and unwrap TracegenErrors that MkDocs wrapped."""
    from mkdocs.exceptions import Abort, MkDocsException

    try:
        yield
    except (MkDocsException, SystemExit) as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, TracegenError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        if isinstance(error, Abort):
            reason = f": {error.__context__}" if error.__context__ else ""
            raise CheckError(f"the site was not built cleanly: {error}{reason}") from error
        raise TracegenError(str(error)) from error
