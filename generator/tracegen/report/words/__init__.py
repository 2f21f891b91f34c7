"""Words: numbers as text, sentences on what was measured, the terms of the pages."""
