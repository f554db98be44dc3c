"""Deciding before each round whether to draft, with which drafter and how far."""
