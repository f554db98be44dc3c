"""What is on this computer: looked for where Slipstream and other programs keep models, used where it lies."""
