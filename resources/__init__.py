"""Files that ship with Slipstream: icons, ready prompts."""
