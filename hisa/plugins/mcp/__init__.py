"""Tools of MCP servers, and HiSA as an MCP server."""
