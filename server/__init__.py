"""The request path: MCP tools over stdio and HTTP, each one short transaction."""
