"""The fleet: one procrastinate actor per file, each with a queue of its own."""
