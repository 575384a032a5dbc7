"""The MCP layer, over an in-memory backend that lives only here."""
