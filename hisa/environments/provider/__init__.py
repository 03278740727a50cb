"""What somebody else's machines need around a guest: addresses, commands, leases, waiting."""
