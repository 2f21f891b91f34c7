"""`tracegen init`: begins a project with settings, journal, an experiment and a workflow that publishes the site."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TextIO

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.contract.errors import SettingsError, os_errors
from tracegen.contract.text import visible

FILES: Mapping[str, tuple[str, str]] = {  # path -> its template, and what it is
    "mkdocs.yml": ("", "the settings of the site"),
    "journal/index.md": ("index.md", "the front page of the journal"),
    "journal/DATE-first-entry.md": ("entry.md", "an entry, which explains how to refer to versions"),
    "experiments/first-look/experiment.toml": ("experiment.toml", "an experiment"),
    ".gitignore": ("gitignore", "what git ignores: runs and the built site"),
    ".github/workflows/site.yml": ("site.yml", "builds the site for GitHub Pages, after each push"),
}


@click.command("init", cls=Verb)
@click.argument("folder", metavar="[DIR]", default=Path(), type=PATH)
@click.option("--author", metavar="NAME")
@click.option("--url", metavar="ADDRESS")
@click.option("--licence", metavar="ID")
def command(folder: Path, author: str | None, url: str | None, licence: str | None) -> int:
    """Write the files of a new project; print their names and the next commands."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: is a file; name the folder of the project")
    today = date.today()
    names = contents(folder.absolute().name, today)
    taken = [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        raise _taken(folder, taken)
    cited = _cited({"site_author": author, "site_url": url, "licence": licence})
    texts = contents(folder.absolute().name, today, cited)
    _write(folder, texts)
    for name, (_, what) in zip(texts, FILES.values(), strict=True):
        print(f"wrote {visible(str(folder / name))}: {what}")
    go = "" if folder.absolute() == Path.cwd() else f"  cd {shlex.quote(visible(str(folder)))}\n"
    print(
        f"Next:\n{go}"
        "  tracegen run first-look                         # first builds llama.cpp, which takes some minutes\n"
        '  tracegen publish first-look -m "A first look"   # as first-look@v1, which can be cited\n'
        "  tracegen serve                                  # the site, rebuilt when something changes"
    )
    return 0


def _author(text: str) -> str:
    if any(not sign.isprintable() for sign in text):
        raise click.BadParameter("has signs that cannot be printed", param_hint="--author")
    return " ".join(text.split())


def _url(text: str) -> str:
    from tracegen.publishing.citation import is_web_address

    if text.strip() and not is_web_address(text.strip()):
        raise click.BadParameter(f"{visible(text)!r} is not an address; it begins with https://", param_hint="--url")
    return text.strip()


def _licence(text: str) -> str:
    from tracegen.publishing.citation import LICENCE

    if text.strip() and not LICENCE.fullmatch(text.strip()):
        wrong = f"{visible(text)!r} is not an SPDX identifier; write one such as CC-BY-4.0"
        raise click.BadParameter(wrong, param_hint="--licence")
    return text.strip()


PROMPTS: Mapping[str, tuple[str, Callable[[str], str]]] = {  # setting -> question, and what checks the answer
    "site_author": ("Author of what will be published (empty: none)", _author),
    "site_url": ("Address of the site (empty: not known yet)", _url),
    "licence": ("Its licence, as an SPDX identifier such as CC-BY-4.0 (empty: none)", _licence),
}


def _cited(given: Mapping[str, str | None]) -> dict[str, str]:
    """The settings of the site that citations name; what is not given is asked for on a terminal. May be empty."""
    answers = {}
    for key, (question, checked) in PROMPTS.items():
        answer = given[key]
        if answer is not None:
            answers[key] = checked(answer)
        elif sys.stdin.isatty():
            answers[key] = click.prompt(question, default="", show_default=False, value_proc=checked)
    return {key: text for key, text in answers.items() if text}


def contents(name: str, today: date, cited: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Path -> text of each file of a new project called `name`, whose citations name what `cited` has."""
    from tracegen.storing.resources import default_config, folder, package_version

    def template(file: str) -> str:
        text = (folder("templates") / "project" / file).read_text(encoding="utf-8")
        return text.replace("DATE", today.isoformat()).replace("VERSION", package_version())

    title = json.dumps("".join(c if c.isprintable() else "\ufffd" for c in name) or "tracegen", ensure_ascii=False)
    config = default_config().read_text(encoding="utf-8")
    lines = [f"site_name: {title}"]
    lines += [f"{key}: {json.dumps(text, ensure_ascii=False)}" for key, text in cited.items() if key != "licence"]
    lines += [f"extra:\n  licence: {cited['licence']}"] if "licence" in cited else []
    config = re.sub(r"(?m)^site_name: .*$", lambda _: "\n".join(lines), config, count=1)
    return {path.replace("DATE", today.isoformat()): template(f) if f else config for path, (f, _) in FILES.items()}


def _taken(folder: Path, names: Sequence[str]) -> SettingsError:
    return SettingsError(f"{folder}: has {', '.join(names)} already, so nothing was written; choose another folder")


def _new(folder: Path, name: str) -> TextIO:
    try:
        return (folder / name).open("x", encoding="utf-8")
    except FileExistsError as error:  # another `tracegen init` wrote it meanwhile
        raise _taken(folder, [name]) from error


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files; when one fails, delete those that were written. Existing files are not overwritten."""
    written: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with os_errors(f"{path}: cannot be written"), _new(folder, name) as file:
                written.append(path)
                file.write(text)
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
