"""Whether runs of the offline model end as what they are: `python -m benchmarks.endings`."""
