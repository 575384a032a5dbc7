"""Connecting clients: their own configuration files, hooks and rules."""
