"""Speculative decoding over small protocols, without llama.cpp."""
