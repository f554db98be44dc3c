"""Bringing a bundle's files whole onto this computer."""
