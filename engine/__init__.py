"""Slipstream's engine: everything that needs no display. Knows no Qt."""
