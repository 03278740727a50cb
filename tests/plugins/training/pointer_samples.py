"""The samples of an episode that a policy played which points at elements."""

from __future__ import annotations

from hisa.plugins.training.base import Episode, Sample


def list_samples(episode: Episode) -> list[Sample]:
    samples = [sample for sample in episode.samples if isinstance(sample, Sample)]
    assert len(samples) == len(episode.samples)
    return samples
