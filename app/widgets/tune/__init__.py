"""The parts of the Tune page."""
