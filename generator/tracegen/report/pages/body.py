"""The body of a page from what its template rendered: with its list of contents, and with one note on what is left out.

Captions state in full what statistics leave out, because a journal and a notebook quote each of them alone. On a page
the note stands once, at its end, and a sign in each caption leads to it.
"""

from jinja2 import Environment
from markupsafe import escape

from tracegen.analysis.passes import OUTSIDE as OUTSIDE_KINDS
from tracegen.report.figures.context import OUTSIDE, Context
from tracegen.report.pages.contents import WHOLE_WIDTH, contents
from tracegen.report.words import sentences

SIGN = "†"
HEAD_ENDS = "</header>"


def left_out(context: Context) -> str:
    """How many loads and warm-up passes statistics leave out; empty without any."""
    kinds = context.tables["passes"]["kind"]
    return sentences.outside_statistics({kind: int((kinds == kind).sum()) for kind in OUTSIDE_KINDS})


def assembled(environment: Environment, key: str, rendered: str, left_out: str) -> str:
    """The body of the page `key`; `rendered` is the output of its template, with one head."""
    head, _, rest = rendered.partition(HEAD_ENDS)
    note = ""
    if OUTSIDE in rest:
        note = f'<p class="tg-note" id="left-out">{SIGN} {escape(left_out)}</p>\n' if left_out else ""
    link = f'<a class="tg-sign" href="#left-out" title="{escape(left_out)}" aria-label="{escape(left_out)}">{SIGN}</a>'
    rest = rest.replace(f" {OUTSIDE}", f" {link}" if left_out else "").replace(OUTSIDE, link if left_out else "")
    entries, beside = contents(rest) if key != "overview" else [], key not in WHOLE_WIDTH
    listed = environment.get_template("contents.html").render(entries=entries, beside=beside)
    kind = "tg-page tg-listed" if entries and beside else "tg-page"
    main = f'<div class="{kind}">\n{listed}<div class="tg-main">{rest}{note}</div>\n</div>\n'
    return f"{head}{HEAD_ENDS}\n{main}"
