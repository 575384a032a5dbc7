"""One page a file: `show` answers a GET, the others are its actions."""
