"""Numbered SQL files, applied in order by shared.migrations."""
