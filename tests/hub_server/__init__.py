"""A local server that speaks the Hub's API, and misbehaves on request."""
