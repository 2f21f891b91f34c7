"""Privacy: replace names of host and user and absolute paths, and hide private text, before anything is public.

A path keeps its last component (`/home/ada/m.gguf` becomes `m.gguf`). Entries with
the name of host or user are removed, and the names are replaced in all other text.
Prompt and generated text stay unchanged, because a page must not misquote them; in
a private experiment they are hidden.
"""

from __future__ import annotations

import getpass
import re
import shlex
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracegen.contract import documents, withheld
from tracegen.contract.errors import SettingsError, StoreError
from tracegen.contract.experiment import SETTINGS
from tracegen.contract.facts import Facts
from tracegen.contract.model import Run
from tracegen.contract.records import decode, encode
from tracegen.report.document.page import Report

if TYPE_CHECKING:
    import pandas as pd

HOST_KEYS = frozenset({"host_name", "hostname", "node", "nodename", "fqdn", "machine_id"})
USER_KEYS = frozenset({"user", "user_name", "username", "login", "home", "email"})
ENVIRONMENT_KEYS = frozenset({"env", "environ", "environment"})
TEXT_KEYS = frozenset({"prompt", "generated", "generated_text", "text", "token_texts", "pieces", "output"})
PRIVATE_SETTINGS = frozenset(key for key, setting in SETTINGS.items() if setting.private)
HIDDEN = TEXT_KEYS | PRIVATE_SETTINGS | {"matrix", "cell"}  # the last two: hashes of prompts
_TOKENS = re.compile(r"token|piece|(^|_)ids$")  # lists under such keys reveal the text
PRIVATE = "(private)"

# Names that identify nobody; to replace them would damage ordinary words.
_COMMON = frozenset({"", "localhost", "root", "user", "users", "home", "runner", "build", "debian", "ubuntu"})
_HOME = re.compile(r"(?<![\w.])/(?:home|Users)/([^/\s'\":;,<>|]+)")
_STOP = r"\s'\"<>|;,()\[\]{}:`"
_PATHS = re.compile(
    r"(?P<url>\b(?!file:)[A-Za-z][\w+.-]*://[^\s'\"<>]+)"
    rf"|(?P<windows>(?<!\w)[A-Za-z]:\\[^{_STOP}]+)"
    rf"|(?P<posix>(?:file://|(?<![\w./~)\]]))(?:/[^/{_STOP}]+){{2,}}/?|~[\w.-]*/[^{_STOP}]+)"
)


@dataclass(frozen=True)
class Secrets:
    """The texts to replace: paths, and names as whole words; both longest first."""

    paths: tuple[str, ...]
    names: tuple[str, ...]


def public_run(run: Run, known: Iterable[str] = ()) -> Run:
    """The public form of a run; `known` are further names to replace (this host, this user)."""
    words = [(check.found, check.limit, check.detail) for check in run.checks]
    document = encode(run.facts)
    clean = _cleaner(document, _secrets([document, words], known))
    checks = tuple(
        replace(check, found=finding, limit=limit, detail=detail)
        for check, (finding, limit, detail) in zip(run.checks, clean(words), strict=True)
    )
    return replace(run, facts=decode(Facts, clean(document)), checks=checks, folder=None)


def scrub(facts: Mapping[str, Any], known: Iterable[str] = ()) -> dict[str, Any]:
    """The document of facts without host name, user name and absolute paths; those of a private run also without texts.

    `known` are further names to replace.
    """
    scrubbed: dict[str, Any] = _cleaner(facts, _secrets(facts, known))(facts)
    return scrubbed


def public_text(text: str, known: Iterable[str] | None = None) -> str:
    """The public form of a text that no run holds: a message, a reason, a problem.

    `known` are the names to replace, by default those of this machine.
    """
    return str(scrub({"value": text}, this_machine() if known is None else known)["value"])


def _cleaner(facts: Mapping[str, Any], secrets: Secrets) -> Callable[[Any], Any]:
    """A function that cleans a value and everything below it; the facts say whether the run is private."""
    private = _is_private(facts)
    texts = _texts(facts)
    replaced = _replacer(secrets)

    def text(value: str) -> str:
        if private:
            for hidden in texts:
                value = value.replace(hidden, PRIVATE)
        elif value in texts:  # unchanged, also as an argument of the command line
            return value
        return replaced(value)

    def clean(value: Any, key: str = "") -> Any:
        if private and isinstance(value, str) and key in HIDDEN:
            return PRIVATE
        if private and isinstance(value, (list, tuple)) and (key in TEXT_KEYS or _TOKENS.search(key)):
            return []
        if key == "pieces" and isinstance(value, Mapping):  # the text again, token by token
            return {} if private else dict(value)
        if private and key in ("command", *PRIVATE_SETTINGS) and isinstance(value, (list, tuple)):
            named = 1 if key == "command" else 0  # keeps the program: any argument may be a text
            return [*map(text, map(str, value[:named])), *([PRIVATE] * (len(value) > named))]
        if key in ("command", "flags") and isinstance(value, (list, tuple)):
            known = [str(word) for word in value]
            shown = withheld.public_words(known) if key == "command" else withheld.words(known)
            return [text(word if word in texts else shown) for word, shown in zip(known, shown, strict=True)]
        if isinstance(value, Mapping):
            entries = _public_environment(value) if key in ENVIRONMENT_KEYS else value
            return {text(str(k)): clean(v, str(k)) for k, v in entries.items() if not _names(key, str(k))}
        if isinstance(value, (list, tuple)):
            items = _public_environment(value) if key in ENVIRONMENT_KEYS else value
            return [clean(item) for item in items]
        if not isinstance(value, str):
            return value
        return text(value if value in texts else withheld.text(value))

    return clean


def public_tables(run: Run, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The public form of the tables: unchanged unless the run is private, else without what reveals tokens.

    Token ids become null. The rows of `touches` for the embedding table are removed, because
    the number of such a row is a token id; what was touched there is then "not recorded".
    Router weights become null, because at full precision they identify tokens; the chosen
    experts stay.
    """
    public = dict(tables)
    if not run.facts.private:
        return public
    import pandas as pd  # slow to load, and a site of versions does not need it

    if "tokens" in public:
        public["tokens"] = public["tokens"].assign(token_id=pd.array([pd.NA] * len(public["tokens"]), dtype="Int32"))
    if {"touches", "passes", "graph_nodes"} <= set(public):
        nodes = public["graph_nodes"]
        lookup = nodes[(nodes["op"] == "GET_ROWS") & (nodes["component"] == "embedding")]
        ops = public["passes"][["pass_id", "graph"]].dropna().merge(lookup[["graph", "node"]], on="graph")
        touches = public["touches"]
        keys = pd.MultiIndex.from_frame(touches[["pass_id", "node"]].astype("int64"))
        telling = keys.isin(pd.MultiIndex.from_frame(ops[["pass_id", "node"]].astype("int64")))
        public["touches"] = touches[~telling].reset_index(drop=True)
    if "routing" in public:
        nothing = pd.array([pd.NA] * len(public["routing"]), dtype="Float64")
        public["routing"] = public["routing"].assign(weight=nothing)
    return public


def public_summary(run: Run) -> list[str]:
    """Lines that list what publishing makes public and what it hides."""
    facts = run.facts
    how = "imported" if facts.imported else "recorded"
    lines = [f"run {run.number:03d} of {run.experiment}, {how} {run.created}; verdict: {run.verdict}"]
    for label, value in (
        ("question", facts.settings.question),
        ("model", facts.model.name),
        ("host CPU", facts.host.cpu),
        ("kernel", facts.host.kernel),
    ):
        if value:
            lines.append(f"{label}: {_short(scrub({'value': value})['value'])}")
    if facts.private:
        lines.append("prompt, generated text, token ids, text per token, arguments: hidden (private = true)")
        lines.append("shown all the same: how many tokens, how long each took, which experts it chose")
    else:
        text = facts.text
        how = " (restored from token ids)" if text.restored else ""
        lines += [f"{key}{how}: {_short(value)}" for key, value in _labelled_texts(encode(facts))]
        if text.missing:
            lines.append(f"not recorded of prompt and generated text: {_short(text.missing)}")
        tokens = "token ids and text per token" if text.pieces else "token ids, without the text of each"
        lines.append(f"{tokens} (hide all these with private = true in experiment.toml)")
    lines += _environment_and_command(facts)
    lines.append("all settings, versions, checks, timings, tensor names and sizes, and the tables")
    lines.append("names and versions of the Python packages that this tracegen needs")
    lines.append("replaced: host name, user name, absolute paths (a path keeps its last component)")
    return lines


def _environment_and_command(facts: Facts) -> list[str]:
    """What becomes public of the command line and of the environment, in full: a secret may stand in either."""
    told = ("command", "trace", "settings", "text")
    public = decode(Facts, scrub({key: value for key, value in encode(facts).items() if key in told}))
    lines = [f"command line: {shlex.join(public.command)}"] if public.command else []
    if public.trace.environment is not None:
        listed = ", ".join(f"{name}={value}" for name, value in public.trace.environment.items()) or "nothing"
        lines.append(f"environment: {listed}")
        if n := public.trace.environment_unnamed:
            lines.append(f"not named: {n} variables of llama.cpp and its libraries that look like secrets")
    return lines


def this_machine() -> tuple[str, ...]:
    """Host name, user name and home folder of this machine."""
    host = socket.gethostname()
    names = {host, host.split(".")[0], Path.home().name, str(Path.home())}
    with suppress(OSError, KeyError):  # a container may have no name for its user
        names.add(getpass.getuser())
    return tuple(sorted(name for name in names if name))


def _names(group: str, key: str) -> str:
    """`host` or `user` if the entry `key` of `group` holds such a name, else empty."""
    key = key.lower()
    if key in HOST_KEYS or (group, key) == ("host", "name"):
        return "host"
    return "user" if key in USER_KEYS else ""


def is_requested(experiment: Path) -> bool:
    """Whether experiment.toml in this folder says `private = true` now; False if there is no such file.

    Raises SettingsError when it cannot be read: it may ask for privacy.
    """
    path = experiment / "experiment.toml"
    if not path.exists():
        return False
    try:
        return documents.read_toml(path).get("private") is True
    except (OSError, SettingsError) as error:
        raise SettingsError(f"{path}: cannot be read, and may ask for privacy: {error}") from error


def made_private(run: Run) -> Run:
    """The run with `private = true` in its settings."""
    return replace(run, facts=replace(run.facts, settings=replace(run.facts.settings, private=True)))


def _is_private(facts: Mapping[str, Any]) -> bool:
    """Whether a document of facts says `private = true`: `Facts.private` of settings that nobody has checked."""
    groups = (facts.get("settings"), facts.get("text"))
    return any(isinstance(group, Mapping) and group.get("private") is True for group in groups)


def refuse_leaks(run: Run, report: Report, known: Iterable[str] = ()) -> None:
    """Raise StoreError when a page or a file still contains a path, name or text that must not become public.

    `run` is the run as recorded, not its public form, because it contains the secrets to look for.
    """
    document = encode(run.facts)
    secrets = _secrets(document, known)
    words = [path for path in secrets.paths if path.count("/") >= 2]
    words += [name for name in secrets.names if len(name) >= 6]
    if run.facts.private:
        words += [text for text in _texts(document) if len(text) >= 12]
    quoted = "" if run.facts.private else "\n".join(_texts(document))
    needles = [(word, form) for word in words if word not in quoted for form in _spellings(word)]
    contents = [(page.path, page.body.encode()) for page in report.pages]
    contents += list(report.files.items())
    for name, content in contents:
        for word, form in needles:
            if form in content:
                raise StoreError(
                    f"{name}: still contains {word!r}, which must not become public; nothing was published: "
                    "please report this as a fault of tracegen"
                )


def _spellings(word: str) -> set[bytes]:
    return {form.encode() for form in (word, escape(word), dumps(word)[1:-1], dumps(word, ensure_ascii=False)[1:-1])}


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 100 else f"{text[:99]}…"


def _strings(value: Any, group: str = "", key: str = "") -> Iterator[tuple[str, str, str]]:
    """Every (group, key, string) below `value`."""
    if isinstance(value, str):
        yield group, key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(item, key, str(name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, group, key)


def _labelled_texts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    text, settings = facts.get("text"), facts.get("settings")
    texts = [("text", text)] if isinstance(text, str) else []
    if isinstance(text, Mapping):
        texts += [(k, v) for k, v in text.items() if isinstance(v, str) and k in TEXT_KEYS]
    for key in PRIVATE_SETTINGS:
        value = settings.get(key) if isinstance(settings, Mapping) else None
        if isinstance(value, str) and value not in [known for _, known in texts]:
            texts.insert(0, (key, value))
    return [(key, value) for key, value in texts if value]


def _texts(facts: Mapping[str, Any]) -> list[str]:
    """The prompt and the generated text, longest first."""
    return sorted({value for _, value in _labelled_texts(facts)}, key=lambda v: (-len(v), v))


def _secrets(facts: Any, known: Iterable[str]) -> Secrets:
    names, paths = set(known), set()
    for group, key, value in _strings(facts):
        if _names(group, key):
            names.update({value, value.split(".")[0]} if _names(group, key) == "host" else {value})
        names.update(_HOME.findall(value))
        if value.startswith("/") and "\n" not in value and len(value) < 4096 and value.count("/") >= 2:
            paths.add(value.rstrip("/"))
    paths |= {name.rstrip("/") for name in names if "/" in name}
    words = {name for name in names if "/" not in name and len(name) > 2 and name.lower() not in _COMMON}
    return Secrets(tuple(sorted(paths, key=lambda v: (-len(v), v))), tuple(sorted(words, key=lambda v: (-len(v), v))))


def _replacer(secrets: Secrets) -> Callable[[str], str]:
    names = "|".join(re.escape(name) for name in secrets.names)
    words = re.compile(rf"(?<![A-Za-z0-9_])(?:{names})(?![A-Za-z0-9_])", re.IGNORECASE) if names else None

    def clean(value: str) -> str:
        for path in secrets.paths:  # whole paths first: they may hold spaces
            if path in value:
                value = re.sub(rf"{re.escape(path)}(?![\w.-])", lambda m: _last(m.group()), value)
        value = _PATHS.sub(lambda m: m.group() if m.group("url") else _last(m.group()), value)
        return words.sub("(removed)", value) if words else value

    return clean


def _last(path: str) -> str:
    if _HOME.fullmatch(path.rstrip("/")) or path.rstrip("/") == "/root":
        return "~"
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def _public_environment(value: Any) -> Any:
    """The variables that may be named, with the values that may be shown; a list of them stays a list."""
    if isinstance(value, Mapping):
        return withheld.environment(value)
    pairs = [str(item).partition("=") for item in value]
    variables = {name: text for name, _, text in pairs}
    return [f"{name}={text}" for name, text in withheld.environment(variables).items()]
