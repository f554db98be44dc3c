"""Measuring a bundle over a suite of tasks: off, auto and fixed draft lengths, in turn."""
