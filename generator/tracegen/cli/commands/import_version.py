"""`tracegen import-version`: keeps a version that somebody else published, from its archive."""

from datetime import UTC, datetime
from pathlib import Path

import click

from tracegen.cli.arguments import PATH, Verb
from tracegen.contract.text import visible


@click.command("import-version", cls=Verb)
@click.argument("archive", metavar="ARCHIVE", type=PATH)
@click.option("--experiments", metavar="FOLDER", type=PATH, default=Path("experiments"), show_default=True)
def command(archive: Path, experiments: Path) -> int:
    """Check the archive, keep its version, and print whose it is."""
    from tracegen.publishing.received import receive

    got = receive(archive, experiments, datetime.now(UTC))
    version, document = got.published.version, got.published.bundle.document
    print(f"{version.citation}  {experiments / version.experiment / 'versions' / str(version.number)}")
    author, url = (visible(str(document.get(key) or "not recorded")) for key in ("author", "url"))
    print(f"published {version.created[:10]}, {version.verdict}; author: {author}; address: {url}")
    print(f"{len(document['manifest']):,} files agree with the list of hashes.")
    if version.status == "withdrawn":
        print(f"Its author withdrew it: {visible(got.published.reason)}")
    if not got.new:
        print("This version was here already." + ("" if got.withdrawn else " Nothing was changed."))
    else:
        print("Its pages bring their own scripts: show them on a site of yours if you trust whoever made them.")
    return 0
