"""From settings to a raw trace: plan (pure), execute (runs programs), llama_cpp (gets and builds it), hooked_tree."""
