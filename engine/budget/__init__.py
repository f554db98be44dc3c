"""What a bundle takes in memory at each context length, and what fits."""
