"""Every kind of drafter on tiny models beside what llama-server drafts, accepts and says with the same files."""
