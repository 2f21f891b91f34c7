"""What is withheld: the one place that knows which names are harmless, and what looks like a secret.

Runs, pages, exports and messages pass through these rules. A variable of the environment is kept with its value if its
name is known and harmless; other variables of llama.cpp and its libraries are named without it; one whose name looks
like a key, token, secret, password or credential is not even named. Values of such flags and settings are withheld
too, and so is what credentials.py knows in a text: users and passwords of URLs, tokens of well-known services. What of
a command line is code, command_line.py says. The lists of names are in harmless.txt.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracegen.contract.command_line import Kind, kinds, words_in_code
from tracegen.contract.credentials import TOKENS, without_credentials
from tracegen.contract.facts import Facts
from tracegen.contract.prose import lists
from tracegen.contract.records import decode, encode

WITHHELD = "(withheld)"

# The tracer has the same lists of variables, in native/core/environment.h
_LISTS = lists(Path(__file__).with_name("harmless.txt"))
# Variables that the tracer looks at: they change what is measured.
FAMILIES = ("GGML_", "LLAMA_", "OMP_", "GOMP_", "KMP_", "TENSOR_TRACE_", "MALLOC_")
# In the name of a variable, flag or setting: it looks like a secret. Case does not matter.
SECRET_WORDS = _LISTS["words of secrets"]
# With which tokens of well-known services begin
TOKEN_PREFIXES = _LISTS["prefixes of tokens"]
# Variables of llama.cpp, ggml, OpenMP, the C library and the tracer that hold a number, a word or a list of them
HARMLESS = _LISTS["harmless variables"]
# Flags that hold a secret although their name does not say so
SECRET_FLAGS = _LISTS["secret flags"]
# Flags that hold no secret although their name looks like it: a count, or nothing
HARMLESS_FLAGS = _LISTS["harmless flags"]
_PUBLIC = (Kind.PROGRAM, Kind.LLAMA, Kind.SCRIPT)  # the words of a command line that may become public

_LONGEST, _SIGNS = 64, r"_.,:;{}()*+\- "
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_VALUE = re.compile(rf"[A-Za-z0-9{_SIGNS}]{{0,{_LONGEST}}}")
_PATH_WORDS = ("PWD", "OLDPWD")
_LONG_FLAG = re.compile(r"--[A-Za-z][\w.-]{0,40}")
_SHORT_FLAG = re.compile(r"-[A-Za-z]")
_PAIR = re.compile(
    r"(?<![\w.-])(?P<name>(?!tokenizer\.)[\w.-]{0,80}(?:key|token|secret|passw|passphrase|credential|auth|cookie|bearer|pwd)[\w.-]{0,80}[\"']?\s*[=:]\s*)"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;}&|\"']+)",
    re.IGNORECASE,
)
_SECRET_HEADER = re.compile(
    r"(?P<name>\b(?:proxy-)?(?:authorization|cookie|x-[\w-]{0,80}(?:key|token|auth|secret)[\w-]{0,80})\s*:\s*)[^\r\n\"']+",
    re.IGNORECASE,
)
_PROMPT_FLAGS = ("-p", "--prompt", "-sys", "--system-prompt", "-r", "--reverse-prompt", "--in-prefix", "--in-suffix")
_USER_PART = re.compile(r"://(?:[^\s/@:]*:)?(?P<user>[^\s/@]+)@")
_LEAST_SECRET = 8  # characters: a shorter value, as `true`, would be found in ordinary words


def looks_secret(name: str) -> bool:
    """Whether the name of a variable, flag or setting looks like that of a secret, or is a token itself."""
    if name in HARMLESS or name.startswith("tokenizer."):  # the latter: metadata of a model, as in --override-kv
        return False
    upper = name.upper().replace("-", "_")
    return any(word in upper for word in SECRET_WORDS) or bool(TOKENS.search(name))


def is_secret_flag(flag: str) -> bool:
    """Whether the value of a flag looks like a secret; llama.cpp reads `_` in a long flag as `-`."""
    known = flag.replace("_", "-") if flag.startswith("--") else flag
    return known in SECRET_FLAGS or (known not in HARMLESS_FLAGS and looks_secret(known))


def environment(variables: Mapping[str, Any]) -> dict[str, str]:
    """The variables that may be named, with their values where these are harmless, else withheld."""
    named = {name: value for name, value in variables.items() if _may_be_named(str(name))}
    return {str(name): str(value) if _is_harmless(str(name), str(value)) else WITHHELD for name, value in named.items()}


def _may_be_named(name: str) -> bool:
    return name.startswith(FAMILIES) and bool(_NAME.fullmatch(name)) and not looks_secret(name)


def _is_harmless(name: str, value: str) -> bool:
    return name in HARMLESS and bool(_VALUE.fullmatch(value)) and not any(p in value for p in TOKEN_PREFIXES)


def secret_values(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets that a program was given, longest first: they are withheld wherever its output repeats them."""
    found = {value for name, value in variables.items() if looks_secret(name) and name not in _PATH_WORDS}
    command = [*command, *words_in_code(command)]
    for before, word in zip(("", *command), command, strict=False):
        name, equals, value = word.partition("=")
        if equals and is_secret_flag(name):
            found.add(value)
        elif before.startswith("-") and "=" not in before and is_secret_flag(before) and not word.startswith("--"):
            found.add(word)
    for given in (*command, *variables.values()):
        found.update(match["user"] for match in _USER_PART.finditer(given))
        found.update(TOKENS.findall(given))
    kept = {value for value in found if len(value) >= _LEAST_SECRET and not value.startswith("/")}
    return tuple(sorted(kept, key=lambda value: (-len(value), value)))


def _hidden(value: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        value = value.replace(secret, WITHHELD)
    return value


def text(value: str, secrets: Iterable[str] = ()) -> str:
    """A text without users and passwords of URLs, tokens, credentials, private keys, and these secrets."""
    return without_credentials(_hidden(value, secrets), WITHHELD)


def words(command: Sequence[str], secrets: Iterable[str] = ()) -> list[str]:
    """A command line, or flags, as they may be stored: without the values of secrets, and without code."""
    kept: list[str] = []
    before = ""
    for word, kind in zip(command, kinds(command), strict=True):
        name, equals, _ = word.partition("=")
        if before and not word.startswith("--"):
            kept.append(WITHHELD)
        elif kind is Kind.CODE:
            kept.append(_flag_alone(text(word, secrets)))
        elif kind is Kind.VARIABLE:
            kept.append(_variable(_hidden(word, secrets)))
        elif equals and is_secret_flag(name) and " " not in name:
            kept.append(f"{name}={WITHHELD}")
        elif kept and kept[-1] in _PROMPT_FLAGS:
            kept.append(text(word, secrets))
        else:
            kept.append(_without_pairs(text(word, secrets)))
        before = word if word.startswith("-") and not equals and is_secret_flag(word) else ""
    return kept


def _without_pairs(word: str) -> str:
    """An argument without the values of what it names itself: a header, `NAME=value`, an entry of JSON."""
    if "=" not in word and ":" not in word:
        return word
    return _PAIR.sub(rf"\g<name>{WITHHELD}", _SECRET_HEADER.sub(rf"\g<name>{WITHHELD}", word))


def public_words(command: Sequence[str]) -> list[str]:
    """A command line as it may become public: of a program that is none of llama.cpp, only flags and a script."""
    pairs = zip(words(command), kinds(command), strict=True)
    return [word if kind in _PUBLIC else _flag_alone(word) for word, kind in pairs]


def _flag_alone(word: str) -> str:
    """A word without what may be a value or code: `--flag=value`, or behind the letter of a flag, as in `-pvalue`."""
    name, equals, _ = word.partition("=")
    if _LONG_FLAG.fullmatch(name):
        return f"{name}={WITHHELD}" if equals else name
    letter = _SHORT_FLAG.match(word)
    return f"{letter[0]}{WITHHELD * (word != letter[0])}" if letter else WITHHELD


def _variable(word: str) -> str:
    """A variable that a command line sets, as one of the environment: without its value, unless it is harmless."""
    name, _, value = word.partition("=")
    return f"{text(name)}={environment({name: value}).get(name, WITHHELD)}"


def metadata(values: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a model, without values whose key names a secret; `tokenizer.` and counts are ordinary."""
    return {
        text(str(key)): WITHHELD if _is_secret_key(str(key)) and isinstance(value, str) else _below(value, text)
        for key, value in values.items()
    }


def _is_secret_key(key: str) -> bool:
    parts = re.split(r"[^a-z0-9]+", key.lower())
    if parts[0] == "tokenizer":
        return False
    joined = "_".join(parts)
    secret = ("api_key", "access_key", "secret", "passw", "passphrase", "credential", "private_key", "apikey", "cookie")
    return any(word in joined for word in secret) or bool({"token", "auth", "authorization", "pwd", "key"} & set(parts))


def _below(value: Any, clean: Callable[[str], str]) -> Any:
    """A value with every text in it, and below it, cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _below(item, clean) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_below(item, clean) for item in value]
    return value


def facts(known: Facts, secrets: Sequence[str] = ()) -> Facts:
    """The facts of a run as they may be stored or read. Prompt and generated text stay, but for these secrets."""

    def clean(value: str) -> str:
        return text(value, secrets)

    def hide(value: str) -> str:
        return _hidden(value, secrets)

    def group(name: str, value: Any) -> Any:
        if name == "command" and isinstance(value, (list, tuple)):
            return words([str(word) for word in value], secrets)
        if name in ("model", "more_models"):
            return _model(value, clean) if name == "model" else [_model(model, clean) for model in value or ()]
        if name == "text":
            return _below(value, hide) if secrets else value
        if not isinstance(value, Mapping):
            return _below(value, clean)
        return {str(key): _entry(str(key), item, clean, hide) for key, item in value.items()}

    cleaned = decode(Facts, {name: group(name, value) for name, value in encode(known).items()})
    variables = known.trace.environment
    if variables is None:
        return cleaned
    n = (known.trace.environment_unnamed or 0) + sum(map(looks_secret, variables))
    trace = replace(cleaned.trace, environment=environment(variables), environment_unnamed=n)
    return replace(cleaned, trace=trace)


def _entry(key: str, value: Any, clean: Callable[[str], str], hide: Callable[[str], str]) -> Any:
    """An entry of a group of facts: flags as a command line, a prompt as it is, all else cleaned."""
    if key == "flags" and isinstance(value, (list, tuple)):
        return words([str(word) for word in value])
    if key == "factors" and isinstance(value, Mapping):
        return {name: _factor(str(name), item, clean, hide) for name, item in value.items()}
    return _below(value, hide if key == "prompt" else clean)


def _factor(key: str, value: Any, clean: Callable[[str], str], hide: Callable[[str], str]) -> Any:
    if key == "flags" and isinstance(value, str):
        return clean(" ".join(words(value.split(" "))))
    return _below(value, hide if key == "prompt" else clean)


def _model(model: Any, clean: Callable[[str], str]) -> Any:
    if not isinstance(model, Mapping):
        return _below(model, clean)
    kept = {str(key): value if key == "metadata" else _below(value, clean) for key, value in model.items()}
    if isinstance(known := kept.get("metadata"), Mapping):
        kept["metadata"] = metadata(known)
    return kept


def exposed(command: str, variables: Mapping[str, str], other: Iterable[str] = ()) -> list[str]:
    """What of a published command line, environment and other texts would be withheld now, each named once."""
    found = [name for name, value in variables.items() if looks_secret(name) and value != WITHHELD]
    try:
        parts = shlex.split(command)
    except ValueError:
        parts = command.split()
    for before, after, new in zip(("", *parts), parts, words(parts), strict=False):
        if after != new:
            found.append(before if before.startswith("-") else "an argument of the command line")
    found += ["a text that looks like a token or a URL with a password"] * any(text(t) != t for t in other)
    return list(dict.fromkeys(found))
