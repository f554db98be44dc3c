"""The command line: `slipstream …` for people and scripts, without a display."""
