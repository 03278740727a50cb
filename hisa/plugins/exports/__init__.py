"""Model calls of runs in the formats of other programs."""
