"""What the Models page knows: pure views of what the facade told, and the objects that keep them up to date."""
