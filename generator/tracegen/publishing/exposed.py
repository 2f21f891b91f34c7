"""What a published version still holds that would be withheld today: values of secrets, which a commit keeps."""

import re
from html import unescape

from tracegen.contract import withheld
from tracegen.contract.errors import StoreError
from tracegen.publishing.bundle import Bundle

HISTORY = (
    "A commit stays in git's history, and a withdrawn version keeps its pages: whoever has the repository or the site "
    "can still read what the version said. If it holds a secret, revoke that secret first. To remove it, take the "
    "version's folder out of every commit (git filter-repo --invert-paths --path {path}), push again, and ask all who "
    "have a copy to delete it."
)
_ENVIRONMENT = re.compile(r'<section id="environment"[^>]*>(.*?)</section>', re.DOTALL)
_FACT = re.compile(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", re.DOTALL)
_COMMAND = re.compile(r'<section id="command">.*?<pre[^>]*>(.*?)</pre>', re.DOTALL)


def exposed(bundle: Bundle) -> list[str]:
    """The names of variables and flags whose values the page of the method shows and should not.

    A text of that page, or the message of the version, that looks like a secret is named as such.
    Empty too where the page cannot be read: checking the files of a version is not done here.
    """
    path = next((page["path"] for page in bundle.pages if page["key"] == "method"), None)
    if path is None:
        return []
    try:
        page = bundle.body(path).decode("utf-8", "replace")
    except (OSError, StoreError):
        return []
    group, line = _ENVIRONMENT.search(page), _COMMAND.search(page)
    variables = {unescape(name): unescape(value) for name, value in _FACT.findall(group[1])} if group else {}
    texts = [unescape(value) for _, value in _FACT.findall(page)] + [str(bundle.document.get("message", ""))]
    return withheld.exposed(unescape(line[1]) if line else "", variables, texts)
