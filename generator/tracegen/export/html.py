"""`html`: the overview of a run or version as one file, to mail or to attach to an issue.

It is the public form: of a run, names of host and user and paths are replaced, as publishing does; of a version, the
page is as it was published. Styles and drawings stand in the file, it needs no script, and nothing in it leads out.
"""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from tracegen.contract.errors import SettingsError, StoreError
from tracegen.export.format import Format, Source
from tracegen.publishing import errata, versions
from tracegen.publishing.bundle import CHROME, VERSION_FILE, own, read_bundle, shells
from tracegen.publishing.public_form import public_form
from tracegen.report.document.page import ALONE, Report
from tracegen.storing import store
from tracegen.storing.resources import package_version

LIMIT = 3 << 20  # bytes
STYLE = "tracegen.css"


def _html(source: Source, folder: Path) -> None:
    version = (source.folder / VERSION_FILE).is_file()
    body, style, facts = _of_version(source.folder) if version else _of_run(source)
    text = (
        shells()
        .get_template("single_file.html")
        .render(
            name=source.name,
            body=Markup(body),
            style=Markup(_enclosed(f"{own(CHROME).decode()}{style}")),
            exported_by=f"tracegen {package_version()}",
            **facts,
        )
    )
    content = text.encode()
    if len(content) > LIMIT:
        raise SettingsError(
            f"{source.name}: its overview takes {len(content):,} bytes, more than the {LIMIT:,} of a file to mail; "
            "publish it, and send the address"
        )
    if not version:
        public_form(source.run, source.folder).refuse_leaks(Report("", (), {source.name: content}))
    (folder / "overview.html").write_bytes(content)


Overview = tuple[str, str, dict[str, Any]]  # its body and styles, and what the page around it says


def _of_run(source: Source) -> Overview:
    """The overview of a stored run in its public form. Raises StoreError when a file of the run has changed."""
    from tracegen.report.pages.render import render_report  # imports altair, which loads slowly

    store.verify_run(source.folder)
    run, form = source.run, public_form(source.run, source.folder)
    report = render_report(form.run, form.tables(source.tables), citable=None)
    facts = {
        "title": report.title,
        "status": "draft",
        "reason": "",
        "successor": "",
        "created": run.created,
        "verdict": run.verdict,
        "generator": "",
        "errata": (),
    }
    return report.files[ALONE].decode(), report.assets[STYLE].decode(), facts


def _of_version(folder: Path) -> Overview:
    """The overview of a version as it was published, and what became known of it since.

    Raises StoreError when a file of the version is missing or has changed.
    """
    document, experiment = read_bundle(folder).document, folder.resolve().parent.parent
    number = int(document["version"])
    ledger = versions.read_ledger(experiment)
    published = {one.version.number: one for one in versions.read_published(experiment, None)} if ledger else {}
    known = published.get(number)
    body = store.published_file(folder, ALONE, document["manifest"]).read_text(encoding="utf-8")
    style = store.published_file(folder, document["assets"][STYLE], document["manifest"]).read_text(encoding="utf-8")
    facts = {
        "title": document["title"],
        "status": known.version.status if known else "current",
        "reason": known.reason if known else "",
        "successor": f"{known.version.experiment}@v{known.successor}" if known and known.successor else "",
        "created": document["created"],
        "verdict": document["verdict"],
        "generator": str(document.get("generator") or "an unknown tracegen"),
        "errata": errata.errata_of(str(document.get("generator", "")), "overview", created=str(document["created"])),
    }
    return body, style, facts


def _enclosed(style: str) -> str:
    """The style sheet, which must not end the element in which it stands."""
    if "</" in style or "<!--" in style:
        raise StoreError("the style sheet holds markup, so it cannot stand in a page; restore it from a copy")
    return style


HTML = Format(
    "html",
    "the first page in its public form as one file, to mail or to attach to an issue",
    _html,
    suffix=".html",
    whole=True,
)
