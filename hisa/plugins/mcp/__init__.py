"""Tools of MCP servers, and HiSA as an MCP server."""

from hisa.machine.plugins import Command, OpenedTools

__all__ = ["MCP", "SERVERS"]

MCP = Command(
    "hisa.plugins.mcp.mcp:mcp",
    "Offer HiSA to MCP clients.",
    after="tools",
)
SERVERS = OpenedTools("hisa.plugins.mcp.client.open_tools:open_mcp_tools")
