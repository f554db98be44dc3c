"""Bundles that are kept in the folder for models: names that are safe, where files lie, manifests, and proof."""
