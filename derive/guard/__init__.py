"""Someone's implementation against a verified formula: inputs, bounds, verdicts, causes, messages."""
