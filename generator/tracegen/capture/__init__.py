"""From settings to a raw trace: plan (pure), execute (the only subprocess), llama_cpp (get, build), hooked_tree."""
