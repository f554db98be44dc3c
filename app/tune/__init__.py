"""What the Tune page knows and does, without widgets."""
