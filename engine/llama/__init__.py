"""llama.cpp: the only package that imports llama_cpp."""
