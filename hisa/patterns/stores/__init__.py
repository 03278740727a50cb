"""Pattern stores: Qdrant Edge in this process, or a Qdrant server."""
