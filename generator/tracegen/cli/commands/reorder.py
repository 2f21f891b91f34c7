"""`tracegen reorder`: writes a model file with its tensors in another order, and simulates the reads of a run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from tracegen.cli.arguments import PATH, Verb, run_names
from tracegen.contract.errors import SettingsError
from tracegen.contract.text import visible
from tracegen.storing.progress import BYTES, Progress

if TYPE_CHECKING:
    import pandas as pd

    from tracegen.analysis.file_order import Order
    from tracegen.measure.reordered import Layout, Original

TOLERANCE = 131072  # bytes that a read may pass over: what the kernel reads ahead by default
MEANING = {
    "layer": "embeddings, then layer by layer, then what belongs to no layer",
    "first-touch": "as the run first touched the tensors in the file; never touched ones last",
    "hot": "most touched bytes per byte of the tensor first",
    "co-activated": "tensors stay; in each, the experts that the run chose most come first, each followed by the one "
    "that was chosen most often together with it",
}
INSIDE = "co-activated"  # moves experts inside of tensors


@click.command("reorder", cls=Verb)
@click.argument("model", metavar="MODEL", type=PATH)
@click.argument("out", metavar="OUT", type=PATH)
@click.option(
    "--order",
    required=True,
    type=click.Choice(tuple(MEANING)),
    help="The order of the tensors. " + "; ".join(f"{name}: {meaning}" for name, meaning in MEANING.items()) + ".",
)
@click.option("--run", metavar="RUN", shell_complete=run_names)
@click.option("--dry-run", is_flag=True)
@click.option("--force", is_flag=True)
def command(model: Path, out: Path, order: str, run: str | None, dry_run: bool, force: bool) -> int:
    """Arrange the tensors, simulate, write the file and print what was done."""
    if run is None and order != "layer":
        raise SettingsError(f"--order {order}: needs a run that says what was touched; name it with --run RUN")
    _refuse_place(model, out, force)
    from tracegen.analysis import file_order
    from tracegen.measure.reordered import layout, original, slots_of
    from tracegen.readers.gguf.file import tensor_table

    with original(model) as source:
        tensors = tensor_table((source.header,))
        touched = _Touched(run, model, tensors) if run is not None else None
        if touched and order == INSIDE:
            arranged = tensors.sort_values("offset", kind="stable")
            slots = slots_of(source.header, touched.slots(model))
        else:
            if touched and order != "layer":
                touched.refuse_none(order)
            arranged = file_order.arranged(tensors, cast("Order", order), touched.accesses if touched else tensors[:0])
            slots = {}
        offsets = file_order.places(arranged, source.header.alignment)
        plan = layout(source.header, order, arranged["name"].tolist(), offsets.tolist(), slots)
        lines: list[str] = []
        if touched:
            lines += touched.experts_simulated() if slots else touched.simulated(offsets, learned=order != "layer")
        if not dry_run:
            _write(source, plan, model, out, force)
        _print(source, plan, model, out, order, dry_run)
        for line in lines:
            print(line)
    return 0


def _refuse_place(model: Path, out: Path, force: bool) -> None:
    """Raise SettingsError when `out` cannot be the file to write."""
    if out.suffix != ".gguf":
        raise SettingsError(f"{out}: a model file is called NAME.gguf; change the name")
    if out.exists() and model.exists() and out.samefile(model):
        raise SettingsError(f"{out}: is the file of MODEL itself, which is never written over; choose another name")
    if out.is_symlink():
        raise SettingsError(f"{out}: is a link; name a new file, or the file that it leads to")
    if out.exists() and not out.is_file():
        raise SettingsError(f"{out}: is not a regular file; choose another name")
    if out.exists() and not force:
        raise SettingsError(f"{out}: exists already; remove it, choose another name, or replace it with --force")


class _Touched:
    """What a run touched of the tensors of one file."""

    def __init__(self, named: str, model: Path, tensors: pd.DataFrame) -> None:
        """Load the run. Raises SettingsError when another model ran, or a check of what it touched failed."""
        from tracegen.analysis import file_order
        from tracegen.contract.needs import BYTES as TOUCHED_BYTES
        from tracegen.reading.notebook.loaded import load
        from tracegen.report.figures.context import Context

        loaded = load(named)
        self._named, self._tensors = named, tensors
        self._context = Context(loaded.measured, loaded.tables)
        refused = self._context.refusal(TOUCHED_BYTES).removeprefix("Not drawn: ")
        if refused:
            raise SettingsError(f"{named}: does not say what was touched: {refused} Measure it again.")
        self._same = file_order.pairs(loaded.tables, tensors)
        _refuse_differences(self._same, named, model)
        self.accesses = self._placed(tensors.set_index("tensor")["offset"])

    def _placed(self, offsets: pd.Series) -> pd.DataFrame:
        from tracegen.analysis import file_order

        return file_order.placed(self._context.tables, self._context.disk_accesses, self._same, offsets)

    def refuse_none(self, order: str) -> None:
        """Raise SettingsError when the run touched no tensor in the file."""
        if self.accesses.empty:
            raise SettingsError(
                f"--order {order}: {self._named} touched no tensor in the mapped file, so it gives no order; name a "
                "run with mmap = true and repack = false"
            )

    def slots(self, model: Path) -> dict[int, list[int]]:
        """Layer -> the place of each expert. Raises SettingsError where the run chose none."""
        from tracegen.analysis import what_if

        measured = frozenset(self._context.measured["pass_id"].tolist())
        found = what_if.expert_slots(self._context.tables["routing"], measured)
        if not found:
            raise SettingsError(f"{self._named}: chose no experts of {model}; name a run of a mixture of experts")
        return {layer: places.tolist() for layer, places in found.items()}

    def experts_simulated(self) -> Iterator[str]:
        """What the simulation of the run's report gives for experts in this order, in a sentence."""
        from tracegen.contract import quantities as q

        rows = self._context.what_if
        of = rows[rows["memory_share"].eq(0).to_numpy(bool)].set_index("order")["reads"]
        if {"today", INSIDE} <= set(of.index):
            yield (
                f"Simulation, not a prediction of speed: {q.decimal(of['today'])} reads per token from MODEL as it is, "
                f"{q.decimal(of[INSIDE])} from OUT, if no byte is in memory: learned on earlier passes of "
                f"{visible(self._named)} and scored on later ones. OUT is learned on all."
            )

    def simulated(self, offsets: pd.Series, learned: bool) -> Iterator[str]:
        """What a simulation with the tensors at `offsets` (by tensor number, in bytes) gives, in sentences.

        `learned`: the order is one of what this run touched.
        """
        from tracegen.analysis import order
        from tracegen.contract import quantities as q

        run, tables = visible(self._named), self._context.tables
        n_untouched = int((~self._tensors["tensor"].isin(self.accesses["tensor"])).sum())
        if n_untouched:
            yield (
                f"{n_untouched:,} of {q.counted(len(self._tensors), 'tensor')}: {run} never touched them in the file "
                "(not used, or copied into memory by mmap = false or repack)."
            )
        before, after = (order.by_pass(tables, each) for each in (self.accesses, self._placed(offsets)))
        touching = before["n_accesses"] > 0
        kinds = before["kind"].astype("object")
        phase = next((kind for kind in ("generate", "prompt") if (touching & (kinds == kind)).any()), "")
        if not phase:
            yield f"No simulation: no prompt or generate pass of {run} touched the file."
            return
        chosen = (touching & (kinds == phase)).to_numpy(bool)
        old, new = (float(each.loc[chosen, f"reads_{TOLERANCE}"].median()) for each in (before, after))
        what = {"generate": "token (generate pass)", "prompt": "prompt pass"}[phase]
        yield (
            f"Simulation, not a prediction of speed: {q.decimal(old)} reads per {what} from MODEL as it is, "
            f"{q.decimal(new)} from OUT. They are the accesses of {run}, joined where at most {q.size(TOLERANCE)} "
            f"lie between, if no byte is in memory; medians, n = {q.counted(int(chosen.sum()), 'pass', 'passes')}."
        )
        if learned:
            yield (
                "The order was learned on all measured passes, these among them; in the appendix of its report an "
                "order is learned on earlier passes and scored on later ones."
            )
        if self._context.gaps:
            yield visible(self._context.gaps)


def _refuse_differences(same: pd.DataFrame, named: str, model: Path) -> None:
    """Raise SettingsError when the tensors of a run are not those of the file."""
    other = same[~same["alike"].to_numpy(bool)]
    if other.empty:
        return
    shown = "; ".join(_difference(row) for row in other.head(3).to_dict("records"))
    more = f"; and {len(other) - 3} more" if len(other) > 3 else ""
    raise SettingsError(
        f"{model}: is not the model of {named}, as {len(other)} of {len(same)} tensors differ: {shown}{more}; name the "
        "model that the run was measured with, or a run of this model"
    )


def _difference(row: Mapping[Hashable, Any]) -> str:
    from tracegen.contract.quantities import known

    def described(suffix: str) -> str:
        shape = " × ".join(str(row[f"ne{axis}{suffix}"]) for axis in range(4))
        return f"{row[f'dtype{suffix}']} {shape}, {row[f'size_bytes{suffix}']} bytes"

    in_run, in_file = known(row["tensor_run"]), known(row["tensor"])
    if in_run and in_file:
        return f"{row['name']!r} is {described('')} in the file and {described('_run')} in the run"
    return f"{row['name']!r} is only in the {'run' if in_run else 'file'}"


def _write(source: Original, plan: Layout, model: Path, out: Path, force: bool) -> None:
    from tracegen.measure.demo.whole_files import refuse_small_disk
    from tracegen.measure.reordered import write_reordered

    refuse_small_disk(out.parent, plan.size_bytes, "make room, or name a file on another disk")
    progress = Progress()
    progress.step(f"write {visible(out.name)}")
    write_reordered(
        source,
        plan,
        out,
        progress=lambda done, total: progress.update(done, total, BYTES),
        before_placing=lambda: _refuse_place(model, out, force),
    )
    progress.done()


def _print(source: Original, plan: Layout, model: Path, out: Path, order: str, dry_run: bool) -> None:
    from tracegen.contract import quantities as q
    from tracegen.measure.reordered import unclaimed_bytes

    n = len(plan.tensors)
    print(f"{visible(str(out))}  {plan.size_bytes:,} bytes{', not written (--dry-run)' if dry_run else ''}")
    print(f"Order {order}: {MEANING[order]}.")
    if plan.slots:
        verb = "would move" if dry_run else "moved"
        print(f"Experts {verb} inside of {q.counted(len(plan.slots), 'tensor')}, the rows of routers with them.")
    print(f"{plan.n_moved:,} of {q.counted(n, 'tensor')} {'would begin' if dry_run else 'begin'} at another byte.")
    unclaimed = unclaimed_bytes(source.header)
    if unclaimed:
        print(f"{q.counted(unclaimed, 'byte')} of {visible(str(model))} belong to no tensor and are left out.")
