"""Metrics from rounds, and the race."""
