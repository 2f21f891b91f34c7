"""What was found: records with numbers, one renderer, and the rule that chooses the answer."""
