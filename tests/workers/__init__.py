"""Tests of the fleet, on a real database and with real worker processes."""
