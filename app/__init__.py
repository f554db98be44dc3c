"""Slipstream's window: Qt only, never llama.cpp, never blocking."""
