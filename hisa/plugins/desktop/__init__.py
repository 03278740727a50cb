"""A desktop of the machine that HiSA runs on: private and thrown away, or a display that exists."""
