"""The forward pass of a BERT encoder in NumPy: six small layers need no deep-learning framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Weights = Mapping[str, Floats]

__all__ = ["sentence_vectors"]

_EPSILON = 1e-12
_MASKED = -1e9


def _erf(x: Floats) -> Floats:
    """Returns the error function to an absolute error of 1.5e-7 (Abramowitz and Stegun, 7.1.26)."""
    import numpy as np

    size = np.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    value: Floats = np.copysign(1.0 - series * np.exp(-size * size), x)
    return value


def _gelu(x: Floats) -> Floats:
    half = x.dtype.type(0.5)
    return half * x * (half + half + _erf(x * x.dtype.type(0.7071067811865476)))


def _dense(x: Floats, weights: Weights, name: str) -> Floats:
    # One product of two matrices is several times faster than one for each text of the batch.
    flat = x.reshape(-1, x.shape[-1]) @ weights[f"{name}.weight"].T
    flat += weights[f"{name}.bias"]
    return flat.reshape(*x.shape[:-1], -1)


def _normalise(x: Floats, weights: Weights, name: str) -> Floats:
    import numpy as np

    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + x.dtype.type(_EPSILON))
    value: Floats = centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    return value


def _attention(x: Floats, bias: Floats, weights: Weights, name: str, heads: int) -> Floats:
    """Apply multi-head self-attention (Vaswani et al., "Attention Is All You Need", 3.2).

    ``bias`` is (batch, 1, 1, tokens), very negative on padding.
    """
    import numpy as np

    batch, tokens, width = x.shape
    size = width // heads

    def split(part: str) -> Floats:
        flat = _dense(x, weights, f"{name}.self.{part}")
        return flat.reshape(batch, tokens, heads, size).transpose(0, 2, 1, 3)

    scale = x.dtype.type(size**-0.5)
    scores = split("query") @ split("key").transpose(0, 1, 3, 2) * scale + bias
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ split("value")).transpose(0, 2, 1, 3).reshape(batch, tokens, width)
    return _normalise(
        _dense(mixed, weights, f"{name}.output.dense") + x, weights, f"{name}.output.LayerNorm"
    )


def _layer(x: Floats, bias: Floats, weights: Weights, name: str, heads: int) -> Floats:
    x = _attention(x, bias, weights, f"{name}.attention", heads)
    wide = _gelu(_dense(x, weights, f"{name}.intermediate.dense"))
    return _normalise(
        _dense(wide, weights, f"{name}.output.dense") + x, weights, f"{name}.output.LayerNorm"
    )


def sentence_vectors(
    ids: NDArray[np.int64], mask: Floats, *, weights: Weights, layers: int, heads: int
) -> Floats:
    """Returns mean-pooled unit vectors of a padded batch (Sentence-BERT, section 3).

    Args:
        ids: token numbers, (batch, tokens).
        mask: 1 for a token, 0 for padding, (batch, tokens), float32.
        weights: tensors by their names in the checkpoint.
        layers: number of encoder layers.
        heads: number of attention heads.

    Returns:
        (batch, width) float32, each row of length 1.
    """
    import numpy as np

    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = _normalise(x, weights, "embeddings.LayerNorm")
    bias = ((1.0 - mask) * np.float32(_MASKED))[:, None, None, :]
    for index in range(layers):
        x = _layer(x, bias, weights, f"encoder.layer.{index}", heads)
    pooled: Floats = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    unit: Floats = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
    return unit
