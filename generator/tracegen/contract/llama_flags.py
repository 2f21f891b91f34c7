"""What flags of llama.cpp do to files and to other machines: projects are shared, and running one must be safe.

A test holds these lists against llama.cpp's own help: a flag that is new there must be put into one of them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracegen.contract.withheld import is_secret_flag, words

# They write files, wherever their value says
WRITES = (
    "--log-file", "--log-prompts-dir", "--prompt-cache", "--prompt-cache-all", "--prompt-cache-ro",
    "--slot-save-path", "-lcd", "--lookup-cache-dynamic", "-o", "--output", "--output-file", "--save-all-logits",
    "--kl-divergence-base", "--save-logits", "--logits-output-dir",
)  # fmt: skip
# They download, into a cache outside of the run; so do flags whose names end as PRESETS does
DOWNLOADS = (
    "-hfd", "-hfrd", "--hf-repo-draft", "--spec-draft-hf", "-hfv", "-hfrv", "--hf-repo-v", "-hffv", "--hf-file-v",
    "-mmu", "--mmproj-url", "--mtp", "--dflash", "--eagle3",
)  # fmt: skip
PRESETS = ("-default", "-spec")
# They let a model or a file decide what is run
STARTS = (
    "--tools", "--tools-runtime", "--mcp-servers-config", "--mcp-servers-json", "-ag", "--agent", "--ui-mcp-proxy",
    "--webui-mcp-proxy", "--video-ffmpeg-dir", "--models-preset", "--models-dir",
)  # fmt: skip
# They read the files that their value names
READS = (
    "-sysf", "--system-prompt-file", "--grammar-file", "-jf", "--json-schema-file", "--chat-template-file",
    "--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled", "-md", "--model-draft",
    "--spec-draft-model", "-mm", "--mmproj", "--image", "--audio", "--video", "-lcs", "--lookup-cache-static",
    "--in-file", "--context-file", "--tts-speaker-file", "--positive-file", "--negative-file", "-mv",
    "--model-vocoder", "--media-path", "--path",
)  # fmt: skip
# They send what is computed to other machines
SENDS = ("--rpc",)
# They do nothing of this; those that tracegen sets itself are in settings.OWN_FLAGS
SETTINGS = (
    "-cl", "--cache-list", "--completion-bash", "-tb", "--threads-batch", "-C", "--cpu-mask", "-Cr", "--cpu-range",
    "--cpu-strict", "--prio", "--poll", "-Cb", "--cpu-mask-batch", "-Crb", "--cpu-range-batch",
    "--cpu-strict-batch", "--prio-batch", "--poll-batch", "-b", "--batch-size", "--keep", "--swa-full", "--perf",
    "--no-perf", "-e", "--escape", "--no-escape", "--rope-scaling", "--rope-scale", "--rope-freq-base",
    "--rope-freq-scale", "--yarn-orig-ctx", "--yarn-ext-factor", "--yarn-attn-factor", "--yarn-beta-slow",
    "--yarn-beta-fast", "-kvo", "--kv-offload", "-nkvo", "--no-kv-offload", "--no-host", "-ctk", "--cache-type-k",
    "-ctv", "--cache-type-v", "-dt", "--defrag-thold", "-np", "--parallel", "-lzm", "--lazy-mode", "--numa", "-dev",
    "--device", "--list-devices", "-ot", "--override-tensor", "-cmoe", "--cpu-moe", "-ncmoe", "--n-cpu-moe",
    "-ncffn", "--n-cpu-ffn", "-ngl", "--gpu-layers", "--n-gpu-layers", "-sm", "--split-mode", "-ts",
    "--tensor-split", "-mg", "--main-gpu", "-fit", "--fit", "-fitt", "--fit-target", "-fitc", "--fit-ctx",
    "--check-tensors", "--override-kv", "--op-offload", "--no-op-offload", "--control-vector-layer-range",
    "--log-jsonl", "--no-log-jsonl", "--log-colors", "-v", "--verbose", "--log-verbose", "--offline", "-lv",
    "--verbosity", "--log-verbosity", "--log-prefix", "--no-log-prefix", "--log-timestamps", "--no-log-timestamps",
    "--spec-draft-type-k", "-ctkd", "--cache-type-k-draft", "--spec-draft-type-v", "-ctvd", "--cache-type-v-draft",
    "--samplers", "--sampler-seq", "--sampling-seq", "--temp", "--temperature", "--top-k", "--top-p", "--min-p",
    "--top-nsigma", "--top-n-sigma", "--xtc-probability", "--xtc-threshold", "--typical", "--typical-p",
    "--repeat-last-n", "--repeat-penalty", "--presence-penalty", "--frequency-penalty", "--dry-multiplier",
    "--dry-base", "--dry-allowed-length", "--dry-penalty-last-n", "--dry-sequence-breaker", "--adaptive-target",
    "--adaptive-decay", "--dynatemp-range", "--dynatemp-exp", "--mirostat", "--mirostat-lr", "--mirostat-ent", "-l",
    "--logit-bias", "--grammar", "-j", "--json-schema", "-bs", "--backend-sampling", "--verbose-prompt",
    "--display-prompt", "--no-display-prompt", "-co", "--color", "--context-shift", "--no-context-shift", "-sys",
    "--system-prompt", "-ptc", "--print-token-count", "-r", "--reverse-prompt", "-sp", "--special", "-mli",
    "--multiline-input", "--in-prefix-bos", "--in-prefix", "--in-suffix", "-gan", "--grp-attn-n", "-gaw",
    "--grp-attn-w", "--jinja", "--no-jinja", "--reasoning-format", "-rea", "--reasoning", "--reasoning-effort",
    "--reasoning-budget", "--reasoning-budget-message", "--reasoning-preserve", "--no-reasoning-preserve",
    "--chat-template", "--skip-chat-parsing", "--no-skip-chat-parsing", "--simple-io",
)  # fmt: skip
_PATH_NAME = re.compile(r"file|path|dir|folder|cache|log|save|out|dump|write|export")


def name_of(word: str) -> str:
    """The flag that a word names, as llama.cpp reads it: `_` in a long flag is `-`; empty if it names none."""
    name = word.split("=", 1)[0].strip()
    if not re.match(r"--?[A-Za-z]", name):
        return ""
    return name.replace("_", "-") if name.startswith("--") else name


def refusal(word: str) -> str:
    """Why a flag is refused in an experiment, and what to do instead; empty if it is not."""
    name = name_of(word)
    if name in WRITES:
        return "it writes outside of the run, which holds the output anyway; remove it"
    if name in DOWNLOADS or (name.startswith("--") and name.endswith(PRESETS)):
        return "it downloads; name a file on this machine with `model`"
    if name in STARTS:
        return "it lets a model or a file start programs; remove it"
    if name and is_secret_flag(name):
        return "an experiment is shared, and it holds a secret; set it in the environment of `tracegen run` (HF_TOKEN)"
    return ""


def questions(flags: Sequence[str], project: Path) -> list[str]:
    """What of these flags must be agreed to, one line each: files outside of the project, what is sent, the unknown."""
    return [line for at, word in enumerate(flags) if name_of(word) for line in _questions(flags, at, project.resolve())]


def _questions(flags: Sequence[str], at: int, project: Path) -> Iterator[str]:
    name, equals, value = flags[at].partition("=")
    name, shown = name_of(name), words(flags[at : at + 1 if equals else at + 2])
    value = value if equals else flags[at + 1] if at + 1 < len(flags) else ""
    if name in READS:
        outside = [path for path in _paths(value) if not Path(path).resolve().is_relative_to(project)]
        if outside:
            yield f"{' '.join(shown)}: reads a file outside of {project}"
    elif name in SENDS:
        yield f"{' '.join(shown)}: sends what is computed to another machine"
    elif name not in SETTINGS and (_PATH_NAME.search(name) or _is_path(value)):
        yield f"{' '.join(shown if _is_path(value) else shown[:1])}: is not known to tracegen, and may name a file"


def _paths(value: str) -> Iterator[str]:
    """The files of a value: several behind commas, each with a scale behind a colon where it has one."""
    for part in value.split(","):
        yield re.sub(r":[+-]?[\d.]+$", "", part)


def _is_path(value: str) -> bool:
    return bool(re.search(r"[/\\]", value)) or value.startswith(("~", "."))
