"""`slipstream models …` against a local server that speaks the Hub's API."""
