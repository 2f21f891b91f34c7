"""What looks like a credential in a text: the one list of patterns, for tokens of services and for what names them."""

import re
from pathlib import Path

from tracegen.contract.prose import lists

_PREFIXES = lists(Path(__file__).with_name("harmless.txt"))["prefixes of tokens"]
_USER = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)[^\s/\"<>]+@")
_QUERY = re.compile(
    r"(?P<name>[?&;][\w.%-]{0,80}(?:key|token|secret|passw|credential|auth|signature|sig)[\w.%-]{0,80}=)[^\s&;'\"<>#]+",
    re.IGNORECASE,
)
# A token of Hugging Face has 34 letters and digits: fewer of them are the name of a file (hf_SmolLM2Instruct135M.gguf)
TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{16,}|gh[opsu]_[A-Za-z0-9]{16,}"
    r"|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|A[KS]IA[0-9A-Z]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|npm_[A-Za-z0-9]{30,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|[rs]k_live_[A-Za-z0-9]{16,}|dckr_pat_[A-Za-z0-9_-]{16,}"
    r"|pypi-(?:AgE[A-Za-z0-9_-]{13,}|[A-Za-z0-9_]{32,})|ya29\.[A-Za-z0-9_-]{16,})"
)
_SIGN = r"[A-Za-z0-9._~+/=:-]"  # of what stands behind Bearer
_BEARER = re.compile(
    rf"(?P<name>\b(?:Bearer\s+(?={_SIGN}{{8}})|(?i:bearer)[ \t]+(?={_SIGN}{{0,200}}[0-9]))){_SIGN}{{4,}}"
)
# Base64, not a word: small letters before a capital or a digit, or a digit before a capital, or `=` at its end
_BASIC = re.compile(
    r"(?P<name>\b(?i:basic)[ \t]+)(?=[A-Za-z0-9+/]{0,200}?(?:[a-z][A-Z0-9]|[0-9][A-Z]|=))"
    r"[A-Za-z0-9+/]{8,}={0,2}(?![\w-])"
)
_AUTHORIZATION = re.compile(r"(?P<name>\bauthorization[\"']?[ \t]*:[ \t]*[\"']?)[^\s\"'][^\r\n\"']*", re.IGNORECASE)
# As a text has it that connects to a database; PWD with a path is the folder of a shell
_PASSWORD = re.compile(
    r"(?<![\w.-])(?!(?-i:(?:OLD)?PWD=/))(?P<name>[\w.-]{0,80}(?:pwd|passw(?:or)?d)[ \t]*=[ \t]*)"
    r"(?:\"[^\"]*\"|'[^']*'|[^\s,;}&|\"']+)",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_MARKS = re.compile(
    "|".join(("://", "(?i:bearer|basic|authorization|pwd|passw)", "PRIVATE KEY", *map(re.escape, _PREFIXES)))
)  # else nothing is withheld


def without_credentials(value: str, instead: str) -> str:
    """A text with `instead` in place of users and passwords of URLs, tokens, passwords and private keys."""
    if not _MARKS.search(value):
        return value
    if "://" in value:
        value = _USER.sub(rf"\g<scheme>{instead}@", value)
        value = _QUERY.sub(rf"\g<name>{instead}", value)
    value = TOKENS.sub(instead, value)
    for named in (_AUTHORIZATION, _BEARER, _BASIC, _PASSWORD):
        value = named.sub(rf"\g<name>{instead}", value)
    return _PRIVATE_KEY.sub(instead, value) if "PRIVATE KEY" in value else value


def without_user(address: str) -> str:
    """An address without its user and password."""
    return _USER.sub(r"\g<scheme>", address)
