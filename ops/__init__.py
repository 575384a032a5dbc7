"""For people: the command line, the dashboard, deployment."""
