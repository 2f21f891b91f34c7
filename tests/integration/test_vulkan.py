"""A model on a GPU in software, attached, with none, some and all of its layers there: the run that the CPU makes.

`make vulkan` installs what this takes.
"""

import os
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.vulkan import DEVICE, PACKAGES, find, headers
from tracegen.analysis import attribution, backends, copies, device_ops, device_place, expert_cache, measures
from tracegen.analysis.fallen import fallen
from tracegen.analysis.remedies.found import remedies
from tracegen.contract.check_keys import Key
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.runs.observe import Observation, observe
from tracegen.measure.trained import trained_model
from tracegen.reading.notebook.loaded import LoadedRun, load_run
from tracegen.report.figures.context import Context
from tracegen.report.findings import weights
from tracegen.report.findings.answer import quick
from tracegen.storing.progress import Progress

PROGRAM = find()
pytestmark = [
    pytest.mark.llama,
    pytest.mark.nightly,
    pytest.mark.skipif(PROGRAM is None, reason="`make vulkan` installs a llama.cpp with the Vulkan backend"),
]
LAYERS = (0, 20, 99)
N_TOKENS, N_LAYERS = 4, 30
# On a GPU in software, its threads take the processors; nothing asks for a number of tokens, or untraced runs.
MAY_WARN = {Key.INTERFERENCE, Key.TRACING_COST, Key.EVEN_TOKENS}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, LoadedRun]:
    """A run for each number of layers on the device."""
    model = trained_model("smollm2", Progress())
    place, found = tmp_path_factory.mktemp("vulkan"), {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVICE.items():
            patch.setitem(os.environ, name, value)
        for n in LAYERS:
            told = ("generate", "-m", str(model), "-p", "The capital of France is", "-n", str(N_TOKENS), "-ngl", str(n))
            run = observe(
                Observation(f"vulkan-{n}", (str(PROGRAM), *told), "What computes?", attach=True, faults=True),
                place / str(n),
                Progress(),
            )
            assert run.folder is not None
            found[n] = load_run(run.folder)
    return found


def on_devices(n: int, place: Path) -> LoadedRun:
    """A run with all layers on so many devices, which are one GPU in software, each operation timed."""
    told = ("generate", "-m", str(trained_model("smollm2", Progress())), "-p", "The capital of France is", "-n", "3")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (DEVICE | {"GGML_VK_VISIBLE_DEVICES": ",".join("0" * n)}).items():
            patch.setitem(os.environ, name, value)
        asked = Observation(
            f"on-{n}", (str(PROGRAM), *told, "-ngl", "99"), "", attach=True, device_times="ops" if headers() else None
        )
        run = observe(asked, place, Progress())
    assert run.folder is not None
    return load_run(run.folder)


@pytest.mark.parametrize("n", [2, 15])
def test_several_devices_share_the_layers(n: int, runs: dict[int, LoadedRun], tmp_path: Path) -> None:
    """All have one name and one range of addresses, so that a place is known by its buffer alone."""
    run = on_devices(n, tmp_path)
    assert "failed" not in {check.state for check in run.measured.checks}
    touched = [Context(each.measured, each.tables).summary.weight_token_bytes for each in (run, runs[0])]
    assert touched[0] == pytest.approx(touched[1], rel=1e-3)
    backend = run.buffers.drop_duplicates("buffer_id").set_index("buffer_id")["backend"]
    held = run.placements.dropna(subset=["tensor"])
    held = held[held["memory"].eq("copied").to_numpy(bool)]
    of = held.assign(device=held["buffer_id"].map(backend)).groupby("tensor")["device"].agg(set)
    names = run.tensors.set_index("tensor")["name"].astype(str)
    devices = {f"Vulkan{i}" for i in range(n)}
    assert set().union(*of) == devices and of.map(len).max() == 1
    layer = names.reindex(of.index).str.extract(r"blk\.(\d+)\.")[0].dropna().astype(int)
    first = of.reindex(layer.index).map(min).groupby(layer).agg(set)
    assert first.map(len).max() == 1 and len(first) == N_LAYERS  # a layer lies on one device, whole
    if headers():
        busy = device_ops.busy_ns(run.device_ops)
        assert set(busy.index.get_level_values("device")) == devices and (busy > 0).all()


def test_more_devices_than_the_scheduler_takes_end_in_its_own_words(tmp_path: Path) -> None:
    run = on_devices(16, tmp_path)  # and the CPU: 17
    answer = quick(Context(run.measured, run.tables))
    assert answer is not None and "GGML_ASSERT(n_backends <= GGML_SCHED_MAX_BACKENDS) failed" in answer.text


@pytest.mark.parametrize("n", LAYERS)
def test_no_check_fails_and_what_warns_is_the_machine(runs: dict[int, LoadedRun], n: int) -> None:
    """Without layers on the device it is a run with more threads than processors, of which more may warn."""
    states = {check.key: check.state for check in runs[n].measured.checks}
    assert "failed" not in states.values()
    assert states[Key.PASSES_AGREE] == states[Key.TOKENS_AGREE] == "passed"
    assert n == 0 or {key for key, state in states.items() if state == "warning"} <= MAY_WARN


@pytest.mark.parametrize("n", LAYERS)
def test_passes_and_tokens_are_those_of_the_cpu(runs: dict[int, LoadedRun], n: int) -> None:
    own, cpu = runs[n], runs[0]
    columns = ["kind", "n_tokens", "n_sequences", "n_outputs", "position_begin"]
    evaluated = [run.passes[run.passes["kind"].ne("load").to_numpy(bool)][columns].head(4) for run in (own, cpu)]
    pd.testing.assert_frame_equal(*(rows.reset_index(drop=True) for rows in evaluated))
    assert evaluated[0]["kind"].tolist()[:2] == ["prompt", "generate"]
    prompts = [run.tables["tokens"].query("pass_id == 1")["token_id"].tolist() for run in (own, cpu)]
    assert prompts[0] == prompts[1] and len(prompts[0]) == 5


@pytest.mark.parametrize("n", LAYERS[1:])
def test_a_token_touches_the_weights_that_it_touches_on_the_cpu(runs: dict[int, LoadedRun], n: int) -> None:
    own, cpu = (Context(run.measured, run.tables).summary.weight_token_bytes for run in (runs[n], runs[0]))
    assert own == pytest.approx(cpu, rel=1e-3)
    names = runs[n].tensors.set_index("tensor")["name"].astype(str)
    leaves = runs[n].graph_nodes[runs[n].graph_nodes["name"].astype(str).isin(set(names)).to_numpy(bool)]
    placed = runs[n].placements.merge(leaves[["graph", "node", "name"]], on=["graph", "node"])
    assert (placed["tensor"].map(names) == placed["name"].astype(str)).all()
    held = runs[n].placements.dropna(subset=["tensor"])
    copied = held[held["memory"].eq("copied").to_numpy(bool)]
    backend = runs[n].buffers.drop_duplicates("buffer_id").set_index("buffer_id")["backend"]
    assert set(copied["buffer_id"].map(backend)) == {"Vulkan0"}
    layers = {int(name.split(".")[1]) for name in copied["tensor"].map(names) if name.startswith("blk.")}
    assert layers == set(range(max(N_LAYERS + 1 - n, 0), N_LAYERS))  # the output counts as a layer


@pytest.mark.parametrize("n", LAYERS[1:])
def test_inputs_are_copied_to_the_device_before_its_split(runs: dict[int, LoadedRun], n: int) -> None:
    """The scheduler names its copy of a tensor `Vulkan0#NAME#0`; the graph says what there must be."""
    run = runs[n]
    names = set(run.graph_nodes["name"].astype(str))
    made = {name.split("#")[1] for name in names if name.startswith("Vulkan0#")}
    copies = run.copies.merge(
        run.splits[["pass_id", "split", "begin_ns"]], on=["pass_id", "split"], suffixes=("", "_s")
    )
    assert len(copies) == len(run.copies) > 0
    assert set(copies["tensor"]) <= made and {"inp_pos", "attn_inp_kq_mask", "out_ids"} <= set(copies["tensor"])
    assert set(copies["source"]) == {"CPU"} and set(copies["target"]) == {"Vulkan0"}
    assert (copies["end_ns"] <= copies["begin_ns_s"]).all() and (copies["size_bytes"] > 0).all()
    positions = copies[copies["tensor"].eq("inp_pos").to_numpy(bool)].set_index("pass_id")["size_bytes"] // 4
    n_tokens = run.passes.set_index("pass_id")["n_tokens"]
    assert (positions == n_tokens.reindex(positions.index)).all()


@pytest.mark.parametrize("n", LAYERS[1:])
def test_the_device_takes_the_time_and_the_answer_says_so(runs: dict[int, LoadedRun], n: int) -> None:
    run = runs[n]
    context = Context(run.measured, run.tables)
    parts = attribution.by_pass(run.tables)
    whole = parts[[*attribution.PARTS]].sum(axis=1)
    assert whole.to_numpy() == pytest.approx(parts["duration_ns"].to_numpy(), rel=1e-9)
    splits = run.splits[run.splits["backend"].eq("Vulkan0").to_numpy(bool)]
    took = (splits["end_ns"] - splits["begin_ns"]).groupby(splits["pass_id"]).sum()
    by_pass = parts.set_index("pass_id")["elsewhere_ns"]
    assert by_pass.reindex(took.index).to_numpy() == pytest.approx(took.to_numpy(float), rel=1e-6)
    assert set(splits["proof"]) == {"synchronise"}
    said = quick(context)
    assert said is not None and "Vulkan0 computes" in said.text
    assert "single operations have no times" in said.stop or (n == 20 and said.advice)
    assert context.copies_in == "Vulkan0"


def test_a_passive_tracer_learns_from_llama_cpp_when_a_pass_is_done(tmp_path: Path) -> None:
    """Nothing waits after a split, and yet each has an end, with which its pass ends."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVICE.items():
            patch.setitem(os.environ, name, value)
        told = ("generate", "-m", str(trained_model("smollm2", Progress())), "-p", "Hi", "-n", "3", "-ngl", "20")
        run = observe(
            Observation("passive", (str(PROGRAM), *told), "?", attach=True, device_times="passive"),
            tmp_path,
            Progress(),
        )
    assert run.folder is not None and not [check for check in run.checks if check.state == "failed"]
    loaded = load_run(run.folder)
    splits = loaded.splits[loaded.splits["backend"].eq("Vulkan0").to_numpy(bool)]
    ends = loaded.passes.set_index("pass_id")["end_ns"].reindex(splits["pass_id"]).to_numpy()
    assert set(splits["proof"]) == {"synchronise"} and len(splits) >= 4
    assert (ends >= splits["end_ns"]).all() and (ends - splits["end_ns"] < 1_000_000).all()
    busy = backends.busy_ns(splits, loaded.tables["device_ops"])
    assert (busy["least"] > 0.5 * busy["most"]).all()


def test_a_prompt_copies_the_experts_that_it_uses_to_the_device(tmp_path: Path) -> None:
    """From 32 tokens on, the device computes layers that lie with the CPU; of experts used ones are copied, whole."""
    model = write_demo_model("moe", tmp_path / "moe.gguf")[0]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVICE.items():
            patch.setitem(os.environ, name, value)
        prompt = "The page of the memory is read from the disk by the expert. " * 8
        told = ("generate", "-m", str(model), "-p", prompt, "-n", "2", "-ngl", "0")
        run = observe(Observation("experts", (str(PROGRAM), *told), "?", attach=True), tmp_path, Progress())
    assert run.folder is not None
    loaded = load_run(run.folder)
    tensors = loaded.tensors.set_index("name")
    copied = loaded.copies[loaded.copies["tensor"].isin(tensors.index)]
    experts = copied[copied["tensor"].map(tensors["n_experts"]).notna().to_numpy(bool)]
    assert len(experts) and set(experts["proof"]) == {"none"} and set(experts["target"]) == {"Vulkan0"}
    for row in experts.to_dict("records"):
        size = int(tensors.loc[row["tensor"], "size_bytes"])
        one = size // int(tensors.loc[row["tensor"], "n_experts"])
        used, padding = divmod(int(row["size_bytes"]), one)
        assert 0 < row["size_bytes"] <= size and used > 0 and padding <= 512 * used
    (found,) = (of for of in copies.weights(loaded.tables, "prompt") if of.target == "Vulkan0")
    assert found.expert_bytes == experts["size_bytes"].sum() and found.n_bytes == copied["size_bytes"].sum()


def test_a_device_in_software_is_slower_than_the_cpu_and_the_report_says_so(runs: dict[int, LoadedRun]) -> None:
    """The CPU takes a fraction of its time, which the run that it computes alone shows."""
    context = Context(runs[20].measured, runs[20].tables)
    (remedy,) = (one for one in remedies(context, "generate") if one.key == "device-layers")
    assert remedy.names == {"device": "Vulkan0", "options": "-ngl 0"} and remedy.numbers["more_bytes"] < 0
    alone = measures.value("token_ns_median", Context(runs[0].measured, runs[0].tables)).value
    assert alone is not None and alone < remedy.high_ns < remedy.now_ns / 2


def test_an_operation_that_the_device_does_not_take_is_named(tmp_path: Path) -> None:
    """The Vulkan backend computes attention for heads whose size is a multiple of 8; those of this model have 36."""
    model = write_demo_model("demo", tmp_path / "odd.gguf", n_layers=4, n_embd=144, n_heads=4, n_kv_heads=4)[0]
    script = Path(__file__).with_name("on_vulkan.py")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVICE.items():
            patch.setitem(os.environ, name, value)
        told = (str(PROGRAM.with_name("python")), str(script), str(model), "The book", "4", "flash_attn_type=1")
        run = observe(Observation("odd", told, "?", attach=True), tmp_path, Progress())
    assert run.folder is not None
    context = Context(run, load_run(run.folder).tables)
    generated = context.timed[context.timed["phase"].eq("generate").to_numpy(bool)]
    (row,) = fallen(context.tables, generated).to_dict("records")
    assert (row["op"], row["layers"]) == ("FLASH_ATTN_EXT", (0, 1, 2, 3))
    said = quick(context)
    assert said is not None
    assert "The CPU computes FLASH_ATTN_EXT (F32, F16, F16, F16) in 4 layers that lie on Vulkan0." in said.text


CACHE_BYTES = (2 << 20, 4 << 20, 6 << 20)
STORY = (
    "Once upon a time there was a little dog who lived in a big house near the sea and every day he went to the beach"
)


@pytest.mark.parametrize("cache_bytes", CACHE_BYTES)
def test_experts_in_a_cache_on_the_device_are_those_that_tokens_chose(tmp_path: Path, cache_bytes: int) -> None:
    """llama.cpp prints at the end how many lay in its cache, how many did not, and what was copied (#29887).

    The product on the device has slots, not experts: who chose which is in what llama.cpp fetched for its cache.
    """
    folder = Path(__file__).parents[2] / "models/tiny-mixture/tiny-mixture.gguf"
    script = Path(__file__).with_name("on_vulkan.py")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in DEVICE.items():
            patch.setitem(os.environ, name, value)
        told = (str(PROGRAM.with_name("python")), str(script), str(folder), STORY, "16", "experts=CPU")
        told = (*told, f"moe_cache_size={cache_bytes}")
        observation = Observation("cached", told, "?", attach=True, device_times="passive")
        run = observe(observation, tmp_path, Progress())
    assert run.folder is not None and not [check for check in run.checks if check.state == "failed"]
    printed = (run.folder / "raw/stderr.txt").read_text()
    found = re.search(r"ubatch <= 8: hits = (\d+), misses = (\d+), .*uploaded = ([\d.]+) MiB", printed)
    assert found is not None
    loaded = load_run(run.folder)
    passes, routing = loaded.passes, loaded.tables["routing"]
    rows = routing.groupby(["pass_id", "layer"])["row"].transform("nunique")
    few = routing[(rows <= 8).to_numpy(bool)]  # of the prompt the last layer, which computes the row of its output
    assert len(few.drop_duplicates(["pass_id", "layer", "expert"])) == int(found[1]) + int(found[2])
    as_one = {**loaded.tables, "routing": few, "passes": passes.assign(kind="generate", n_tokens=1)}
    of = expert_cache.groups(loaded.tables)
    slots = [group.slots(cache_bytes, 2) for group in of]
    row = expert_cache.table(as_one, most=100).set_index("memory_bytes").loc[cache_bytes]
    assert (row["n_slots"], row["n_hits"], row["n_misses"]) == (sum(slots), int(found[1]), int(found[2]))
    copied = loaded.copies[loaded.copies["tensor"].str.match(expert_cache.SLOTS).to_numpy(bool)]
    assert copied["size_bytes"].sum() / (1 << 20) == pytest.approx(float(found[3]), abs=0.006)
    share = expert_cache.held_share(loaded.tables)
    assert share is not None and share == pytest.approx(int(found[1]) / (int(found[1]) + int(found[2])), abs=0.02)
    (finding,) = (f for f in weights.findings(Context(run, loaded.tables)) if "its cache held" in f.text)
    assert "of experts are copied to Vulkan0" in finding.text


# Single operations: the layer has the device stamp them


@pytest.fixture(scope="module")
def with_headers() -> None:
    """The layer is compiled with the headers of Vulkan."""
    if not headers():
        pytest.skip(f"no headers of Vulkan; on Debian: apt install {PACKAGES[1]}")


@pytest.fixture(scope="module")
def stamped(with_headers: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[LoadedRun, str]:
    """A run whose operations on the device have times, and what the backend's own logger printed in it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**DEVICE, "GGML_VK_PERF_LOGGER": "1"}.items():
            patch.setitem(os.environ, name, value)
        told = (
            "generate",
            "-m",
            str(trained_model("smollm2", Progress())),
            "-p",
            "Hi",
            "-n",
            str(N_TOKENS),
            "-ngl",
            "99",
        )
        run = observe(
            Observation("stamped", (str(PROGRAM), *told), "What takes time?", attach=True, device_times="ops"),
            tmp_path_factory.mktemp("stamped"),
            Progress(),
        )
    assert run.folder is not None
    return load_run(run.folder), (run.folder / "raw/stderr.txt").read_text()


def test_every_operation_of_the_device_has_a_time_within_its_split(stamped: tuple[LoadedRun, str]) -> None:
    run, _ = stamped
    rows = run.device_ops.merge(run.splits, on=["pass_id", "split"], suffixes=("", "_split"), how="left")
    assert set(rows["device"]) == {"Vulkan0"} and rows["exact"].all() and rows["node"].notna().all()
    assert (rows["begin_ns"] >= rows["begin_ns_split"]).all() and (rows["end_ns"] <= rows["end_ns_split"]).all()
    fused = rows["label"].str.partition(" ")[0].str.count(r"\+").to_numpy()
    covered = {
        (row.pass_id, row.node + step) for row, n in zip(rows.itertuples(), fused, strict=True) for step in range(n + 1)
    }
    ops = run.ops[run.ops["backend"].eq("Vulkan0").to_numpy(bool) & run.ops["state"].eq("executed").to_numpy(bool)]
    ran = set(zip(ops["pass_id"], ops["node"], strict=True))
    assert ran - covered == set() and len(ran) > 1_000


def test_operations_run_one_after_another_and_fill_their_split(stamped: tuple[LoadedRun, str]) -> None:
    """What is missing is the hand-over, and the first time that a pipeline is compiled: the passes after the first."""
    run, _ = stamped
    rows = run.device_ops.sort_values(["pass_id", "part"])
    after = rows["begin_ns"].shift(-1)[rows["pass_id"].eq(rows["pass_id"].shift(-1)).to_numpy(bool)]
    assert (after >= rows["end_ns"].reindex(after.index)).all()
    busy = device_ops.busy_ns(run.device_ops).groupby("pass_id").sum()
    splits = run.splits[run.splits["backend"].eq("Vulkan0").to_numpy(bool)].set_index("pass_id")
    share = (busy / (splits["end_ns"] - splits["begin_ns"])).iloc[1:]
    assert len(share) >= N_TOKENS - 1 and share.between(0.8, 1).all()


def test_times_are_those_of_the_backends_own_logger(stamped: tuple[LoadedRun, str]) -> None:
    """In the same run: it writes a stamp behind each operation, and prints the sums of what lies between, by kind.

    What lies between two operations is in its times; so it is taken into ours here.
    """
    run, printed = stamped
    passes = printed.split("Vulkan Timings:")[1:]
    rows = run.device_ops.sort_values(["pass_id", "part"])
    before = rows["end_ns"].groupby(rows["pass_id"]).shift().fillna(rows["begin_ns"])
    rows = rows.assign(took_ns=rows["end_ns"] - before)
    operation = rows["label"].str.partition(" ")[0].rename("operation")
    own = rows["took_ns"].groupby([rows["pass_id"], operation]).sum()
    by_pass = [of for _, of in own.groupby(level="pass_id")]
    assert len(by_pass) == len(passes) > N_TOKENS
    for mine, text in zip(by_pass, passes, strict=True):
        theirs: dict[str, float] = {}
        for line in re.findall(r"^(\S+).*?: \d+ x [\d.e+]+ us = ([\d.e+]+) us", text, re.MULTILINE):
            theirs[line[0].rstrip(":")] = theirs.get(line[0].rstrip(":"), 0.0) + 1e3 * float(line[1])
        whole = sum(theirs.values())
        assert mine.sum() == pytest.approx(whole, rel=0.01)
        products = sum(ns for name, ns in theirs.items() if name.startswith("MUL_MAT"))
        assert mine[mine.index.get_level_values("operation").str.startswith("MUL_MAT")].sum() == pytest.approx(
            products, rel=0.05
        )


def test_the_answer_names_the_operation_and_the_table_the_rate(stamped: tuple[LoadedRun, str]) -> None:
    run, _ = stamped
    context = Context(run.measured, run.tables)
    said = quick(context)
    table = context.of_devices
    first = table.groupby("operation")["took_ns"].sum().idxmax()  # a product, or on a busy machine what waits for all
    assert said is not None and f"{first} takes" in said.text and "how fast it could be is not known" in said.stop
    products = table[table["operation"].str.startswith("MUL_MAT") & table["dtype"].notna()]
    measured = run.passes[run.passes["kind"].eq("generate").to_numpy(bool)]
    per_token = float(products["weight_bytes"].sum()) / len(measured)
    on_device = run.tensors[~run.tensors["name"].eq("token_embd.weight") & run.tensors["dtype"].ne("F32")]
    embedding = run.tensors.loc[run.tensors["name"].eq("token_embd.weight"), "size_bytes"].sum()  # it is the output too
    assert per_token == pytest.approx(float(on_device["size_bytes"].sum() + embedding), rel=0.01)


@pytest.mark.usefixtures("with_headers")
def test_a_program_without_labels_says_why_nothing_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in DEVICE.items():
        monkeypatch.setenv(name, value)
    told = ("generate", "-m", str(trained_model("smollm2", Progress())), "-p", "Hi", "-n", "1", "-ngl", "0")
    run = observe(
        Observation("none", (str(PROGRAM), *told), "What takes time?", attach=True, device_times="ops"),
        tmp_path,
        Progress(),
    )
    assert run.folder is not None and load_run(run.folder).device_ops.empty
    assert "operations of a device have no times: no backend labelled any" in capsys.readouterr().err


@pytest.mark.parametrize("n", LAYERS[1:])
def test_a_device_holds_what_the_run_on_the_cpu_says_it_would(runs: dict[int, LoadedRun], n: int) -> None:
    """The weights that were copied to it, held against the layers that a placement counts for `-ngl`."""
    cpu, own = Context(runs[0].measured, runs[0].tables), runs[n]
    timed = cpu.timed[cpu.timed["phase"].eq("generate").to_numpy(bool)]
    made = device_place.model_of(cpu.tables, timed, cpu.of_kind(cpu.used, "generate"), {}, cpu.tokens["generate"])
    expected = made.held[0][min(n, N_LAYERS + 1), 0]
    weights = own.buffers[own.buffers["backend"].eq("Vulkan0") & own.buffers["usage"].eq("weights")]
    held = weights[weights["event"].eq("alloc").to_numpy(bool)]["size_bytes"].sum()
    assert held == pytest.approx(expected, rel=0.001)  # tensors are aligned
