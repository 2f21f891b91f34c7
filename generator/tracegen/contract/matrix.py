"""The matrix of an experiment: every combination of settings that its runs compare.

[matrix]
prefault = [true, false]
repack = [true, false]
prompts = "prompts.json"       # texts by name, each a value of the factor `prompt`
exclude = [{ prefault = true, repack = true }]
repeat = 5                     # runs of each combination
"""

import hashlib
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tracegen.contract import documents
from tracegen.contract.errors import SettingsError
from tracegen.contract.experiment import KEYS, LIMITS, SETTINGS, Experiment
from tracegen.contract.facts import Slot
from tracegen.contract.model import cell_name
from tracegen.contract.setting import TABLES, TEXT, Kind, values, whole
from tracegen.contract.settings import check_repeat, experiment_from, key_problems, raise_problems, read_settings, shown
from tracegen.contract.text import visible

MOST_CELLS, MOST_RUNS = 1000, 10_000
_SHORT = 40  # characters of a value in the name of a cell

# A setting that has several values in a matrix is a factor.
FACTORS = (*(key for key, of in SETTINGS.items() if of.factor and key not in LIMITS), "llama_cpp")
OWN = {
    "prompts": TEXT,
    "llama_cpp": values(MOST_CELLS),
    "exclude": TABLES,
    "repeat": KEYS["repeat"],
    "order": whole(0),
}
MATRIX: Mapping[str, Kind] = {**OWN, **{key: values(MOST_CELLS) for key in FACTORS if key != "llama_cpp"}}


@dataclass(frozen=True)
class MatrixCell:
    """A combination: the value of each factor in words, and the experiment with these settings.

    `program`: the folder of the llama.cpp to run, None for the usual one. `places`: the place of each value among those
    of its factor, as they are written.
    """

    factors: tuple[tuple[str, str], ...]
    experiment: Experiment
    program: str | None = None
    places: tuple[int, ...] = ()

    @property
    def place_of(self) -> dict[str, int]:
        """By factor the place of its value."""
        return {factor: place for (factor, _), place in zip(self.factors, self.places, strict=True)}

    @property
    def name(self) -> str:
        """`prefault=true, repack=false`."""
        return cell_name(dict(self.factors))


@dataclass(frozen=True)
class Drawn:
    """What a matrix was when rounds of it were drawn: names of its cells, runs of each, and the last round with a
    run: those after it are drawn again."""

    cells: frozenset[str]
    repeat: int
    rounds: int


@dataclass(frozen=True)
class Matrix:
    """The cells of an experiment, how many runs each has, and the seed of their order."""

    name: str
    cells: tuple[MatrixCell, ...]
    repeat: int
    order: int

    @property
    def identity(self) -> str:
        """Changes when a cell, the number of runs or the order does. A matrix that grows keeps its first as name."""
        return _hash([[_settings(cell) for cell in self.cells], self.repeat, self.order])

    def plan_after(self, drawn: Sequence[Drawn]) -> list[tuple[MatrixCell, Slot]]:
        """Every run in its order; of a matrix that grew the rounds that were drawn before stay as they were.

        Each round after them has every cell that has fewer than `repeat` runs in the rounds before it. The order of a
        round is shuffled with the seed and depends on its cells and its number alone.
        """
        rounds: list[list[MatrixCell]] = []
        for past in drawn:
            rounds += self._more_rounds(rounds, past.cells, past.repeat)[: past.rounds - len(rounds)]
        rounds += self._more_rounds(rounds, frozenset(cell.name for cell in self.cells), self.repeat)
        places = [(turn, cell) for turn, cells in enumerate(rounds, 1) for cell in cells]
        name, n_runs, n_cells = self.identity, len(places), len(self.cells)
        return [
            (
                cell,
                Slot(
                    name, dict(cell.factors), turn, n, n_runs, self.hash_of(cell), n_cells, self.repeat, cell.place_of
                ),
            )
            for n, (turn, cell) in enumerate(places, 1)
        ]

    def hash_of(self, cell: MatrixCell) -> str:
        """A hash of the settings of a cell and of the seed of the order: runs of one hash repeat each other."""
        return _hash([_settings(cell), self.order])

    def _more_rounds(
        self, rounds: Sequence[Sequence[MatrixCell]], names: Set[str], repeat: int
    ) -> list[list[MatrixCell]]:
        """The rounds after these that the cells with these names need for `repeat` runs each."""
        of = Counter(cell.name for cells in rounds for cell in cells)
        lacking = {cell.name: repeat - of[cell.name] for cell in self.cells if cell.name in names}
        more = []
        for n in range(max(lacking.values(), default=0)):
            cells = [cell for cell in self.cells if lacking.get(cell.name, 0) > n]
            random.Random(f"{self.order}/{len(rounds) + n + 1}").shuffle(cells)
            more.append(cells)
        return more


def _settings(cell: MatrixCell) -> list[object]:
    """What decides whether two cells are one; a setting at its default is left out: new ones change no hash."""
    experiment = replace(cell.experiment, question="", asks="", tags=())
    set_ = {f.name: value for f in fields(experiment) if (value := getattr(experiment, f.name)) != f.default}
    return [cell.program, set_]


def _hash(of: object) -> str:
    text = json.dumps(of, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def read_matrix(path: Path) -> Matrix | None:
    """The matrix of an `experiment.toml`; None if it has none. Raises SettingsError with all problems at once."""
    mapping = read_settings(path)
    if "matrix" not in mapping:
        return None
    folder = path.absolute().parent
    try:
        return matrix_from(folder.name, mapping, folder)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from error


def matrix_from(name: str, mapping: Mapping[str, object], folder: Path) -> Matrix:
    """The matrix that `mapping`, with its key `matrix`, describes; relative paths count from `folder`.

    Raises SettingsError listing every problem, one a line.
    """
    raise_problems(key_problems({"matrix": mapping["matrix"]}, KEYS, ""))
    table: Mapping[str, Any] = mapping["matrix"]  # type: ignore[assignment]
    raise_problems(_table_problems(table, mapping))
    levels = {key: list(values) for key, values in table.items() if key in FACTORS}
    if "prompts" in table:
        levels["prompt"] = list(_prompts(folder / str(table["prompts"])).items())
    words = {key: [word_of(key, value) for value in values] for key, values in levels.items()}
    raise_problems(_level_problems(words))
    excluded = _excluded(table.get("exclude", []), levels)
    base = {key: value for key, value in mapping.items() if key not in ("matrix", "repeat")}
    chosen = [c for c in itertools.product(*(range(len(v)) for v in levels.values())) if not _matches(c, excluded)]
    if not chosen:
        raise_problems(["matrix.exclude: leaves no cell; remove an entry"])
    cells = tuple(_cells(name, base, levels, words, chosen, folder))
    return with_repeat(Matrix(name, cells, 1, table.get("order", 0)), table.get("repeat", mapping.get("repeat", 1)))


def with_repeat(matrix: Matrix, repeat: int | None) -> Matrix:
    """The matrix with so many runs of each cell; unchanged for None. Raises SettingsError if they are too many."""
    if repeat is None:
        return matrix
    check_repeat(repeat)
    if (n := len(matrix.cells) * repeat) > MOST_RUNS:
        most = f"a matrix has at most {MOST_RUNS:,} runs"
        raise_problems([f"matrix: {len(matrix.cells)} cells of {repeat} runs are {n} runs; {most}"])
    return replace(matrix, repeat=repeat)


def _table_problems(table: Mapping[str, Any], mapping: Mapping[str, object]) -> list[str]:
    problems = key_problems(table, MATRIX, "matrix.")
    factors = [key for key in table if key in FACTORS or key == "prompts"]
    if not factors:
        problems.append("matrix: names no factor; give a setting several values: prefault = [true, false]")
    if "repeat" in table and "repeat" in mapping:
        problems.append("matrix.repeat, repeat: both are set; keep one")
    if "prompts" in table and "prompt" in table:
        problems.append("matrix.prompts, matrix.prompt: both are set; keep one")
    if not problems:
        n = math.prod(len(table[key]) for key in factors if key != "prompts")
        problems += [f"matrix: has {n:,} cells; at most {MOST_CELLS:,} are allowed"] if n > MOST_CELLS else []
    return problems


def _prompts(path: Path) -> dict[str, str]:
    """The prompts of a JSON file, by name; those of a list are called 1, 2, …"""
    try:
        document = documents.read_json(path, SettingsError, "write texts by name")
    except OSError as error:
        raise SettingsError(f"matrix.prompts: {path} cannot be read: {error.strerror or error}") from error
    except SettingsError as error:
        raise SettingsError(f"matrix.prompts: is not JSON in UTF-8: {error}") from error
    if isinstance(document, list):
        document = {str(n): text for n, text in enumerate(document, 1)}
    if not isinstance(document, dict) or not document or not all(isinstance(t, str) for t in document.values()):
        raise SettingsError(f'matrix.prompts: {path} must hold texts by name: {{"short": "Hello"}}')
    if len(document) > MOST_CELLS:
        raise SettingsError(f"matrix.prompts: {path} has {len(document):,} prompts; at most {MOST_CELLS:,} are allowed")
    return document


def word_of(key: str, value: object) -> str:
    """A value of a factor as it stands in names of cells."""
    if key == "prompt" and isinstance(value, tuple):
        return _short(str(value[0]))  # a prompt of a file has a name
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return _short(" ".join(map(str, value)) or "none")
    if key in ("model", "llama_cpp", "prompt_file"):
        return _short(Path(str(value)).name)
    return _short(str(value))


def _short(text: str) -> str:
    words = " ".join(visible(text).split()) or "empty"
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1]}…"


def _level_problems(words: Mapping[str, Sequence[str]]) -> list[str]:
    problems = []
    for key, names in words.items():
        twice = sorted({name for name in names if names.count(name) > 1})
        problems += [f"matrix.{key}: {', '.join(twice)} stands twice; each value needs a name of its own"] * bool(twice)
    return problems


def _excluded(entries: Sequence[Mapping[str, object]], levels: Mapping[str, list[Any]]) -> list[dict[int, int]]:
    """For each entry of `exclude`: place of the factor -> place of its value."""
    keys, problems, excluded = list(levels), [], []
    for entry in entries:
        places = {}
        for key, value in entry.items():
            known = [v[0] if isinstance(v, tuple) else v for v in levels.get(key, [])]
            if key not in levels:
                problems.append(f"matrix.exclude: {key} is not a factor; the factors are {', '.join(keys)}")
            elif not any(value == v and type(value) is type(v) for v in known):
                problems.append(f"matrix.exclude: {key} has no value {shown(value)}")
            else:
                places[keys.index(key)] = known.index(value)
        excluded.append(places)
    raise_problems(problems)
    return excluded


def _matches(cell: Sequence[int], excluded: Sequence[Mapping[int, int]]) -> bool:
    return any(entry and all(cell[factor] == value for factor, value in entry.items()) for entry in excluded)


def _cells(
    name: str,
    base: Mapping[str, object],
    levels: Mapping[str, list[Any]],
    words: Mapping[str, list[str]],
    chosen: Sequence[tuple[int, ...]],
    folder: Path,
) -> Iterator[MatrixCell]:
    """Every cell, checked as an experiment of its own; a problem of several cells is said once, for the first."""
    problems: dict[str, str] = {}
    cells = []
    for places in chosen:
        values = {key: levels[key][i] for key, i in zip(levels, places, strict=True)}
        factors = tuple((key, words[key][i]) for key, i in zip(levels, places, strict=True))
        values = {key: value[1] if isinstance(value, tuple) else value for key, value in values.items()}
        program = values.pop("llama_cpp", None)
        mapping = {**base, **values}
        if "prompt" in values:
            mapping.pop("prompt_file", None)
        elif "prompt_file" in values:
            mapping.pop("prompt", None)
        try:
            experiment = experiment_from(name, mapping, folder)
            path = None if program is None else str(folder / str(program))
            cells.append(MatrixCell(factors, experiment, path, places))
        except SettingsError as error:
            where = ", ".join(f"{key}={word}" for key, word in factors)
            for line in str(error).split("\n")[1:]:
                problems.setdefault(line.strip(), where)
    raise_problems([f"in the cell {where}: {problem}" for problem, where in problems.items()])
    yield from cells
