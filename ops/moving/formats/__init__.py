"""One file for each form that `memhub import` reads; each turns its places into lives."""
