"""What the explorers of the pages load: operations, spans, memory, graphs, packed for their scripts."""
