"""A figure of a bundle as pictures: for a column of text and for a phone, on light and on dark ground.

A report draws its figures with the colours of the page; a picture has colours of its own, so the site holds each twice.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from tracegen.charts.theme import on_dark
from tracegen.site.files import ASSETS

SCHEME = "tracegen:/"  # begins an address that counts from the site's root


def pictured(link: Element, figure: Mapping[str, Any], folder: Path, root: str, dark: dict[str, bytes]) -> None:
    """Put the pictures that the bundle in `folder` has of a figure into `link`; those on dark ground go into `dark`.

    `root` is the address of the bundle, `dark` maps addresses to contents.
    """
    words = {"alt": figure["alt"], "loading": "lazy"}
    layouts = figure["layouts"]
    two = {"360", "690"} <= set(layouts)
    drawn = [layouts["360"], layouts["690"]] if two else [figure["path_svg"]]
    grounds = {
        "light": [f"{root}/{path}" for path in drawn],
        "dark": [f"{SCHEME}{_on_dark(folder / path, dark)}" for path in drawn],
    }
    for ground, (*narrow, wide) in grounds.items():
        if not two:
            SubElement(link, "img", {"src": wide} | words | _room(folder / drawn[0]) | {"class": f"tracegen-{ground}"})
            continue
        picture = SubElement(link, "picture", {"class": f"tracegen-layouts tracegen-{ground}"})
        source = {"media": "(max-width: 600px)", "srcset": narrow[0]} | _size(folder / drawn[0])
        SubElement(picture, "source", source)
        SubElement(picture, "img", {"src": wide} | words | _size(folder / drawn[1]))


def _on_dark(drawing: Path, pictures: dict[str, bytes]) -> str:
    """The address of a drawing on dark ground, which is added to `pictures`."""
    content = on_dark(drawing.read_text(encoding="utf-8")).encode()
    name = f"{ASSETS}/{hashlib.sha256(content).hexdigest()[:16]}.svg"
    pictures[name] = content
    return name


def _head(drawing: Path) -> str:
    with drawing.open(encoding="utf-8", errors="replace") as file:
        return file.read(1000)


def _size(drawing: Path) -> dict[str, str]:
    """Width and height of a drawing in px, so that the page layout does not jump when it loads."""
    size = re.search(r'<svg[^>]* width="(\d{1,5})(?:\.\d*)?" height="(\d{1,5})(?:\.\d*)?"', _head(drawing))
    return {"width": size[1], "height": size[2]} if size else {}


def _room(drawing: Path) -> dict[str, str]:
    """The aspect ratio of a drawing as a style, so that the page layout does not jump when it loads."""
    box = re.search(r'viewBox="\S+ \S+ ([\d.]{1,12}) ([\d.]{1,12})"', _head(drawing))
    return {"style": f"aspect-ratio: {box[1]} / {box[2]}"} if box else {}
