"""A long run of a mixture of experts, as recorded: 24 layers, as many passes as asked for."""

from pathlib import Path

from tracegen.contract.errors import EnvironmentFailure
from tracegen.contract.experiment import Experiment
from tracegen.measure.capture.llama_cpp import TARGET, ensure_build
from tracegen.measure.capture.plan import command_for, environment_for
from tracegen.measure.demo.models import write_demo_model
from tracegen.storing.execute import last_lines, run_program
from tracegen.storing.progress import Progress

LAYERS = 24


def record(work: Path, passes: int) -> tuple[Path, Path]:
    """Write a model below `work` and trace `passes` tokens of it; returns the model file and the trace's folder."""
    model, trace = work / "model.gguf", work / "trace"
    write_demo_model("moe", model, n_layers=LAYERS, n_embd=64, n_ff=64, n_experts=16, n_experts_used=4, context=4096)
    program = ensure_build(Progress()).programs / TARGET
    settings = Experiment("bench", "", str(model), "Once upon a time", passes, seed=1, threads=2, context=4096)
    out, err = work / "out.txt", work / "err.txt"
    trace.mkdir()
    command = command_for(settings, program, model)
    ended = run_program(command, stdout=out, stderr=err, environment=environment_for(settings, trace))
    if ended.status != 0:
        raise EnvironmentFailure(f"{program.name}: {ended.ending}; its last lines:\n{last_lines(err)}")
    return model, trace
