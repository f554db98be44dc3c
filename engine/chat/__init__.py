"""Messages and the templates that turn them into a prompt."""
