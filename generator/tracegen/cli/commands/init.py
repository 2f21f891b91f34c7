"""`tracegen init`: begins a project with settings, journal, an experiment and a workflow that publishes the site."""

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path

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
def command(folder: Path) -> int:
    """Write the files of a new project; print their names and the next commands."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: is a file; name the folder of the project")
    texts = contents(folder.absolute().name, date.today())
    taken = [name for name in texts if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        raise SettingsError(f"{folder}: has {', '.join(taken)} already, so nothing was written; choose another folder")
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


def contents(name: str, today: date) -> dict[str, str]:
    """Path -> text of each file of a new project called `name`."""
    from tracegen.storing.resources import default_config, folder, package_version

    def template(file: str) -> str:
        text = (folder("templates") / "project" / file).read_text(encoding="utf-8")
        return text.replace("DATE", today.isoformat()).replace("VERSION", package_version())

    title = json.dumps("".join(c if c.isprintable() else "\ufffd" for c in name) or "tracegen", ensure_ascii=False)
    config = default_config().read_text(encoding="utf-8")
    config = re.sub(r"(?m)^site_name: .*$", lambda _: f"site_name: {title}", config, count=1)
    return {path.replace("DATE", today.isoformat()): template(f) if f else config for path, (f, _) in FILES.items()}


def _write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files; when one fails, delete those that were written. Existing files are not overwritten."""
    written: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with os_errors(f"{path}: cannot be written"), path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except BaseException:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise
