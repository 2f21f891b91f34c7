"""`perfetto`: a run as a trace that ui.perfetto.dev opens."""
