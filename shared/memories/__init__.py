"""The services that write and read memories; each receives a connection and a scope that was resolved."""
