"""What hooks record beside what every run needs: where they do not fit a llama.cpp, the rest is recorded without it."""

from collections.abc import Mapping

# Word of native/hooks/llama-cpp.toml (`detail = …`) -> what is lost where one of its hooks does not fit.
DETAILS: Mapping[str, str] = {
    "copies": "copies between backends",
    "reads": "reads of model files by llama.cpp",
    "states": "saved states of contexts",
    "work": "the CPU backend's memory for intermediate values",
    "sampled": "the tokens that llama-completion chose",
    "log": "the last lines of llama.cpp's log",
}


def in_words(details: tuple[str, ...]) -> str:
    """What is lost, in words; a word of another version of tracegen stays as it is."""
    return ", ".join(DETAILS.get(detail, detail) for detail in details)
