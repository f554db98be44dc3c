"""What suits this computer, and how fast it is likely to be here."""
