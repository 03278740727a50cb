"""Where attempts are made: in processes of this machine, or in actors of a Ray cluster."""
