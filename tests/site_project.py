"""A whole project as its user would have it: experiments of every kind, published for real, and a journal.

`demo` has a superseded, a current and a withdrawn version and a draft; `hostile` is made of text that
wants to be code; `private` hides its text; `broken` is not usable; `waiting` has no run.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from tests.builders import N_VOCAB, a_run, scaled_case, stored, with_facts
from tests.builders.runs import facts_of, with_groups
from tracegen.cli.commands.build import build_site
from tracegen.contract.model import Check, Run
from tracegen.publishing import versions as publish
from tracegen.publishing.freeze import freeze
from tracegen.site.output import SHORT

NOW = datetime(2026, 12, 20, 12, 0, tzinfo=UTC)  # after the last fault that this release itself mended
MODEL_PATH = "/home/lovelace/secret models/quietly/demo.gguf"
# What must occur in no published byte: the run's host, its user, folders, and this machine's own names.
SECRETS = ("countess-17", "lovelace", "/home/", "secret models", "vault-7", "quietly", "grace-hopper")
PRIVATE_PROMPT = "Whose umbrella was left beside the lighthouse?"
PRIVATE_ANSWER = " It was the gardener's umbrella, nobody asked."
PRIVATE_IDS = [71_001, 71_002, 71_003]
SCRIPT = "<script>alert(1)</script>"
BREAKOUT = '</script></style></title></svg>"><img src=x onerror=alert(1)>'
REFERENCES = "{{7*7}} {% raw %} [[x@v1]] ![[x@v1#fig]] {{ x@v1:y }}"
STEERING = "\x1b[31m\x07\x9b\u202egnp.\u2066\u2028\u2029"
HOSTILE = f"{SCRIPT}{BREAKOUT}{REFERENCES}'\"`&amp;&<!--{STEERING}\ufffd"
HOSTILE_PATH = f"/home/lovelace/{SCRIPT}/\"><img src=x onerror=alert(1)>'{STEERING}.gguf"
LONG = "ten thousand " * 770


@dataclass(frozen=True)
class Project:
    """Where a project lies, and its built site."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "mkdocs.yml"

    @property
    def experiments(self) -> Path:
        return self.root / "experiments"

    @property
    def site(self) -> Path:
        return self.root / "site"

    def bundle(self, name: str, number: int = 1) -> Path:
        return self.experiments / name / "versions" / str(number)

    def pages(self) -> list[str]:
        """Every page of the built site, by its address from the root.

        404.html is left out: a server shows it at any address, so it names its files from the server's root. So are the
        short addresses, which forward to other pages.
        """
        found = (p.relative_to(self.site) for p in self.site.rglob("*.html") if p.name != "404.html")
        return sorted(path.as_posix() for path in found if path.parts[0] != SHORT)

    def copy(self, target: Path, *, site: bool = True) -> Project:
        """The same project elsewhere."""
        shutil.copytree(self.root, target, ignore=None if site else shutil.ignore_patterns("site"))
        return Project(target)


def plain_run(name: str = "demo", number: int = 1, **facts: Any) -> Run:
    """A run that names its machine everywhere a real one does."""
    base = a_run()
    groups = facts_of(base)
    known: dict[str, Any] = {
        "settings": {**groups["settings"], "question": "What does one token read?", "model": MODEL_PATH},
        "command": ["/home/lovelace/llama/bin/llama-completion", "-m", MODEL_PATH, "-p", "Once upon a time"],
        "model": {**groups["model"], "file": MODEL_PATH},
        "host": {**groups["host"], "name": "countess-17", "user": "lovelace"},
        "llama_cpp": {**groups["llama_cpp"], "note": "ran on countess-17, read /srv/vault-7/quietly/x.bin at once"},
        "trace": {
            **groups["trace"],
            "mapped_files": [MODEL_PATH, "/home/lovelace/llama/lib/libggml.so"],
            "environment": {"OMP_NUM_THREADS": "2", "HF_TOKEN": "grace-hopper", "GGML_DIR": "/home/lovelace/llama"},
        },
    }
    return with_groups(replace(base, experiment=name, number=number), **(known | facts))


def hostile_run() -> Run:
    base = plain_run("hostile")
    facts = facts_of(base)
    check = Check("tracing_cost", f"Cost {HOSTILE}", "warning", HOSTILE, f"1 {SCRIPT}", HOSTILE)
    return with_groups(
        replace(base, checks=(check,)),
        **{
            "settings": {**facts["settings"], "question": f"Why {HOSTILE}?", "prompt": HOSTILE, HOSTILE: HOSTILE},
            "command": [HOSTILE_PATH, "-p", HOSTILE, f"--{SCRIPT}"],
            "text": {
                "prompt": HOSTILE,
                "generated": f"{LONG}{HOSTILE}",
                "token_ids": [1, 2],
                "pieces": {"1": HOSTILE, "2": LONG, HOSTILE: HOSTILE},
                "private": False,
            },
            "model": {
                **facts["model"],
                "n_experts": 8,
                "file": HOSTILE_PATH,
                "name": HOSTILE,
                "architecture": HOSTILE,
                "random_weights": False,
                "origin": HOSTILE,
                "licence": HOSTILE,
                "metadata": {HOSTILE: [HOSTILE, LONG], "tokenizer.chat_template": f"{{% if x %}}{HOSTILE}{LONG}"},
            },
            "host": {**facts["host"], "cpu": HOSTILE},
            "llama_cpp": {"version": HOSTILE, "build": {HOSTILE: SCRIPT}},
            "stages": [{"name": HOSTILE, "seconds": 1.0}],
        },
    )


def hostile_tables() -> dict[str, pd.DataFrame]:
    """Names that want to be code: tensors, nodes, operations, files, buffers."""
    tables = scaled_case(3, 2, moe=True)

    def renamed(table: str, column: str, kept: str) -> None:
        old = tables[table][column].astype("object")
        new = [f"{name}{HOSTILE}" if kept else f"{HOSTILE}{i}" for i, name in enumerate(old)]
        new[-1] += LONG
        tables[table] = tables[table].assign(**{column: pd.array(new, dtype=tables[table][column].dtype)})

    renamed("graph_nodes", "name", "blk")
    renamed("tensors", "name", "blk")
    renamed("files", "path", "")
    renamed("buffers", "name", "")
    nodes = tables["graph_nodes"]
    ops = nodes["op"].astype("object")
    ops = ops.mask(ops == "ADD", f"ADD{HOSTILE}").mask(ops == "ROPE", HOSTILE[:200])
    tables["graph_nodes"] = nodes.assign(
        op=ops.astype("category"), op_params=pd.array([HOSTILE] * len(nodes), dtype=nodes["op_params"].dtype)
    )
    return tables


def private_run(number: int = 1) -> Run:
    base = plain_run("private", number)
    return with_facts(
        with_groups(base, command=[*base.facts.command[:-1], PRIVATE_PROMPT]),
        settings=dict(prompt=PRIVATE_PROMPT, private=True),
        text=dict(
            prompt=PRIVATE_PROMPT,
            generated=PRIVATE_ANSWER,
            token_ids=PRIVATE_IDS,
            pieces={str(token): f" {PRIVATE_ANSWER}" for token in PRIVATE_IDS},
            private=True,
        ),
    )


def private_tables() -> dict[str, pd.DataFrame]:
    """The prompt's and the answer's ids stand in the token table, and in the rows read of the embedding."""
    tables = scaled_case(2, 1)
    tokens = tables["tokens"]
    ids = [PRIVATE_IDS[i % len(PRIVATE_IDS)] for i in range(len(tokens))]
    tables["tokens"] = tokens.assign(token_id=pd.array(ids, dtype=tokens["token_id"].dtype))
    touches = tables["touches"]
    rows = (touches["unit"] == "row").to_numpy(bool)
    first = touches["first_unit"].mask(rows, touches["first_unit"] + 71_000)
    tables["touches"] = touches.assign(first_unit=first.astype(touches["first_unit"].dtype))
    assert N_VOCAB < 71_000
    return tables


def make_project(root: Path) -> Project:
    """The whole project, published by the command's own function, and its site, built strictly."""
    project = Project(root)
    at = project.experiments
    (root / "journal" / "notes").mkdir(parents=True)
    own = Path(__file__).parents[1] / "mkdocs.yml"
    project.config.write_text(own.read_text(encoding="utf-8"), encoding="utf-8")

    demo = stored(at, plain_run(), scaled_case(4, 2, moe=True))
    for why in ("first", "with figures for the thesis", "by mistake"):
        freeze(at / "demo", demo, why, NOW, again=True)
    publish.withdraw(at / "demo", 3, f"Measured on battery {SCRIPT}", 2, NOW)
    stored(at, plain_run(number=2), scaled_case(1, 1))
    hostile = stored(at, hostile_run(), hostile_tables())
    freeze(at / "hostile", hostile, f"why {SCRIPT}", NOW)
    private = stored(at, private_run(), private_tables())
    freeze(at / "private", private, "numbers only", NOW)
    stored(at, private_run(2), private_tables())
    failed = Check("one_run_id", "All files carry one run id", "failed", "2", "1", "Segments of two runs.")
    broken = stored(at, replace(plain_run("broken"), checks=(failed,)), scaled_case(1, 1))
    freeze(at / "broken", broken, "as evidence", NOW)
    (at / "waiting").mkdir()
    (at / "waiting" / "experiment.toml").write_text('question = "Is <b>anything</b> read?"\nmodel = "demo"\n')
    write_journal(root / "journal")
    build_site(project.config, strict=True)
    return project


def write_journal(folder: Path) -> None:
    (folder / "index.md").write_text("# Journal\n\n- [Experiments](experiments/index.md)\n- [Entry](notes/entry.md)\n")
    (folder / "notes" / "entry.md").write_text(
        "# Entry\n\n"
        "One token reads {{ demo@v2:bytes_touched_per_token }}, and [[demo@v1]] said so before; [[demo@v3]] did not.\n"
        "See [[demo@v2/operations]], [[demo@v2#fig-heatmap|the heatmap]], [[demo@v2/method#tab-downloads]], "
        "[[hostile@v1]], [[hostile@v1#fig-components]].\n\n"
        "![[demo@v2#fig-heatmap]]\n\n"
        "![[hostile@v1#fig-op-kinds]]\n\n"
        "![[demo@v2#fig-graph-0|The graph, folded.]]\n"
    )
