"""MCP over Streamable HTTP: one process, many clients, many tenants."""
