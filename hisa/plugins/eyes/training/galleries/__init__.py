"""Random windows of desktop toolkits that report their own widgets."""
