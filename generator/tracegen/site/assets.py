"""The site's own CSS and JS, and the tags that load them."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from tracegen.publishing.bundle import hashed_name

ASSETS = "assets/tracegen"  # below the site's root: each asset once, however many versions use it


def address(name: str, content: bytes) -> str:
    """The address of an asset from the site's root."""
    return f"{ASSETS}/{hashed_name(name, content)}"


def head(load: Mapping[str, Sequence[str]]) -> str:
    """The tags of a page's head for these stylesheets and scripts."""
    tags = [Markup('<link rel="stylesheet" href="{}">').format(path) for path in load["styles"]]
    tags += [Markup('<script defer src="{}"></script>').format(path) for path in load["scripts"]]
    return "".join(f"{tag}\n" for tag in tags)
