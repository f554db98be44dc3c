"""The child process that runs llama.cpp, its messages and its supervision."""
