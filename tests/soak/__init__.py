"""Many clients of one server over HTTP for a while, some of them stalled, and a server that restarts under them."""
