"""Speed, as ratios against a peer or a naive version measured in the same run."""
