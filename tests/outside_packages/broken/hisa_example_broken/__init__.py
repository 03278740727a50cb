"""Parts that fail, and parts under names of HiSA's own."""
