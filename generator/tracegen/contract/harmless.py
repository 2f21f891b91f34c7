"""Which names are known: harmless variables and flags, and words that make a name look like that of a secret.

The tracer has the same lists of variables, in native/core/environment.h. `withheld.py` has the rules.
"""

from pathlib import Path

from tracegen.contract.prose import lists

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
# Flags whose values may become public whatever the program is
PUBLIC_FLAGS = _LISTS["public flags"]
LLAMA_CPP = "llama-"  # with which the names of llama.cpp's programs begin
# Programs that start another one and pass on what stands behind its name
STARTERS = _LISTS["starters"]
