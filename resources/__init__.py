"""Files that ship with Slipstream: icons, ready prompts, tasks to measure with."""
