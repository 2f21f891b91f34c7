"""What the words of a command line are: of llama.cpp, or perhaps code or a secret of another program.

Only words of llama.cpp's own programs are known to be harmless: of the one that the line starts, by itself or through
wrappers (`nice -n 5 llama-bench …`). Their flags are read as they read them; behind one that is not known here no
program is. Interpreters (`bash -c …`) are found anywhere else on a line.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from getopt import GetoptError, getopt
from pathlib import Path

from tracegen.contract.prose import lists

LLAMA_CPP = "llama-"  # with which the names of llama.cpp's programs begin
_BEHIND, _EVERY, _LONG = "code behind -", "code in every word", "long flags of code"
_LISTS = lists(Path(__file__).with_name("programs.txt"))
# Program -> the letters of its flags that have code behind them; none where every word may be code
INTERPRETERS: Mapping[str, str] = {
    name: head.removeprefix(_BEHIND) if head.startswith(_BEHIND) else ""
    for head, names in _LISTS.items()
    if head != _LONG
    for name in names
}
_PROGRAM = re.compile(r"(?P<name>[a-z]+)[\d.]*[a-z]?(?:-(?:static|dbg|\d[\w.]*))?(?:\.exe)?")  # python3.12, bash-5.2
_SCRIPT = re.compile(r"[\w./\\-]+\.(?:py|sh|pl|rb|js|mjs|exe)")
_ONE_LETTER = re.compile("-[A-Za-z]")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


class Kind(Enum):
    """What a word is: the line's first, of llama.cpp, a script, a variable that is set, perhaps code, or unknown."""

    PROGRAM = auto()
    LLAMA = auto()
    SCRIPT = auto()
    VARIABLE = auto()
    CODE = auto()
    OTHER = auto()


@dataclass(frozen=True)
class Wrapper:
    """A program that starts the one behind its own words: its flags as getopt names them, long ones with
    spaces between, and how many words follow them."""

    short: str = ""
    long: str = ""
    n_operands: int = 0
    sets_variables: bool = False


WRAPPERS: Mapping[str, Wrapper] = {
    "chrt": Wrapper("abdfiorRvT:P:D:", "batch fifo idle other rr reset-on-fork verbose", 1),
    "doas": Wrapper("Lnu:C:"),
    "env": Wrapper("iv0u:C:", "ignore-environment unset= chdir= debug", sets_variables=True),
    "ionice": Wrapper("c:n:t", "class= classdata= ignore"),
    "nice": Wrapper("n:", "adjustment="),
    "nohup": Wrapper(),
    "numactl": Wrapper(
        "i:w:P:C:N:m:p:la",
        "interleave= weighted-interleave= preferred= preferred-many= physcpubind= cpunodebind= membind= localalloc all",
    ),
    "setsid": Wrapper("cfw", "ctty fork wait"),
    "stdbuf": Wrapper("i:o:e:", "input= output= error="),
    "sudo": Wrapper("AbEHnPSu:g:h:p:C:D:R:T:", "user= group= non-interactive prompt=", sets_variables=True),
    "taskset": Wrapper("ac", "all-tasks cpu-list", 1),
    "time": Wrapper("apvqf:o:", "append portability verbose quiet format= output="),
    "timeout": Wrapper("fpvk:s:", "foreground preserve-status verbose kill-after= signal=", 1),
    "xargs": Wrapper("0rtxI:n:P:d:a:L:s:E:", "null no-run-if-empty verbose max-args= max-procs="),
}


def kinds(command: Sequence[str]) -> list[Kind]:
    """What each word of a command line is. Words that begin with a flag are of no line: those of an experiment."""
    if not command or command[0].startswith("-"):
        return [Kind.OTHER] * len(command)
    own = _place_of_llama_cpp(command)
    found = [*_of_others(command[:own]), *[Kind.LLAMA] * (len(command) - own)]
    return [Kind.PROGRAM, *found[1:]] if own else found


def words_in_code(command: Sequence[str]) -> Iterator[str]:
    """The words in the code of a command line as a shell splits it; an empty one before each code."""
    for word, kind in zip(command, kinds(command), strict=True):
        if kind is Kind.CODE:
            split = shlex.shlex(word, posix=True, punctuation_chars=True)
            split.whitespace_split, split.commenters = True, ""
            yield ""
            try:
                yield from split
            except ValueError:  # a quote without its other
                yield from word.split()


def _place_of_llama_cpp(command: Sequence[str]) -> int:
    """Where the program of llama.cpp stands that the line or its wrappers start; behind the line if there is none."""
    at = 0
    while at < len(command):
        name = _name(command[at])
        if name.startswith(LLAMA_CPP):
            return at
        if name not in WRAPPERS:
            break
        at = _behind(command, at + 1, WRAPPERS[name])
    return len(command)


def _behind(command: Sequence[str], at: int, wrapper: Wrapper) -> int:
    """Where the program stands that a wrapper starts, whose own words begin at `at`."""
    try:
        rest = getopt(list(command[at:]), wrapper.short, wrapper.long.split())[1]
    except GetoptError:
        return len(command)
    n_set = 0
    while wrapper.sets_variables and n_set < len(rest) and _VARIABLE.match(rest[n_set]):
        n_set += 1
    return len(command) - len(rest) + n_set + wrapper.n_operands


def _of_others(command: Sequence[str]) -> Iterator[Kind]:
    """The kinds of words before a program of llama.cpp, or of a line without one."""
    taker: str | None = None  # the letters of the interpreter that takes the words
    sets, code = False, False
    for at, word in enumerate(command):
        name = _name(word)
        if code:
            yield Kind.CODE
        elif sets and _VARIABLE.match(word):
            yield Kind.VARIABLE
        elif (letters := _letters(name)) is not None:
            taker, code = letters, not letters
            sets = name in WRAPPERS and WRAPPERS[name].sets_variables
            yield Kind.OTHER
        elif taker and _is_flag_of_code(word, taker):
            code = True
            yield Kind.CODE
        elif taker and _SCRIPT.fullmatch(word):
            taker = None
            yield Kind.SCRIPT if at == 1 or (at == 2 and _ONE_LETTER.fullmatch(command[1])) else Kind.OTHER
        else:
            yield Kind.OTHER


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _letters(name: str) -> str | None:
    """The letters of an interpreter, None for another program."""
    found = _PROGRAM.fullmatch(name.casefold())
    return INTERPRETERS.get(found["name"]) if found else None


def _is_flag_of_code(word: str, letters: str) -> bool:
    """Whether a word is a flag with code in it or behind it: `-c`, `-lc`, `-ecode`, `--eval`, `--eval=code`."""
    name = word.partition("=")[0]
    if name.startswith("--"):
        return len(name) > 2 and any(flag.startswith(name) for flag in _LISTS[_LONG])
    return bool(re.match(rf"-[A-Za-z0-9]*[{letters}]", word))
