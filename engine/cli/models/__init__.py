"""`slipstream models …`: what there is on the Hub and on this computer."""
