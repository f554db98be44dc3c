"""The widgets of the Models page."""
