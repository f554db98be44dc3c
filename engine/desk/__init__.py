"""What is behind the models' facade: jobs on threads, and the parts of the engine that they use."""
