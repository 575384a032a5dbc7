"""Moving memories in and out: our own export with its whole history, and what other memories leave behind."""
