"""Programs that toolkits run inside the machine, where there is only Python and no HiSA."""
