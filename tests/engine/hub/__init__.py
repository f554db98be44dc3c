"""Tests of what speaks to the Hub, against a local server that speaks its API."""
