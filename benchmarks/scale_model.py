"""The model of the run at real scale: what `tracegen model gpt-oss` writes in the size of gpt-oss-20b."""

from pathlib import Path

from tracegen.measure.capture.llama_cpp import alone
from tracegen.measure.demo.gpt_oss import file_bytes, of_gib, tensor_bytes, write_gpt_oss
from tracegen.measure.demo.models import recipe_hash
from tracegen.measure.demo.whole_files import GIB, refuse_small_disk
from tracegen.storing.progress import BYTES, Progress
from tracegen.storing.resources import cache_folder

NAME = "gpt-oss-11.3.gguf"
ARCHITECTURE = of_gib(11.3)
SIZE = tensor_bytes(ARCHITECTURE)
ROOM = 2 << 30  # bytes of disk beside the model, for the run and its pages


def ensure_model(progress: Progress) -> Path:
    """The model's file in tracegen's cache, which is written if needed. Raises EnvironmentFailure."""
    models = cache_folder() / "models"
    target = models / recipe_hash() / NAME
    with alone(target, progress):
        if not target.exists():
            older = sorted(models.glob("*/gpt-oss-*.gguf"))
            advice = f"delete {older[0]}, which an older benchmark left" if older else "make room"
            refuse_small_disk(models, file_bytes(ARCHITECTURE) + ROOM, advice)
            progress.step(f"write a model of {SIZE / GIB:.1f} GiB")
            write_gpt_oss(target, ARCHITECTURE, progress=lambda done, total: progress.update(done, total, BYTES))
            progress.done()
    return target
