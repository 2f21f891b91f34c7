"""Short addresses: `x/HASH/` forwards to a version, on any site that holds it.

HASH are the first twelve digits of the SHA-256 of the content that the citation of a version names.
"""

from collections.abc import Mapping, Sequence

from tracegen.contract.address import EXPERIMENTS
from tracegen.publishing.bundle import shells
from tracegen.publishing.citation import hash_of_manifest
from tracegen.publishing.versions import Published

FOLDER, DIGITS = "x", 12


def forwards(published: Sequence[Published]) -> Mapping[str, bytes]:
    """Path -> page for each version."""
    template = shells().get_template("forward.html")
    pages = {}
    for each in published:
        version = each.version
        digest = hash_of_manifest(each.bundle.document["manifest"])
        there = f"../../{EXPERIMENTS}/{version.experiment}/{version.name}/index.html"
        page = template.render(citation=version.citation, title=version.title, there=there)
        pages[f"{FOLDER}/{digest[:DIGITS]}/index.html"] = page.encode()
    return pages
