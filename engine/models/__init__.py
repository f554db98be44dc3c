"""Model files: what they are and where they are."""
