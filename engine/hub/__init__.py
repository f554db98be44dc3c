"""The Hugging Face Hub: searching it, looking at a repository, reading a file's header from afar."""
