"""The package finds its own files."""

import pytest
from jinja2 import UndefinedError

from tracegen.contract.errors import EnvironmentFailure
from tracegen.storing import resources


def test_a_folder_that_is_missing_asks_to_install_again() -> None:
    assert (resources.folder("templates") / "site" / "bundle_page.html").is_file()
    with pytest.raises(EnvironmentFailure, match="install tracegen again"):
        resources.folder("no-such-folder")


def test_templates_escape_and_know_no_undefined() -> None:
    templates = resources.templates("site")
    assert templates.from_string("{{ x }}").render(x="<b>") == "&lt;b&gt;"
    with pytest.raises(UndefinedError):
        templates.from_string("{{ y }}").render()
