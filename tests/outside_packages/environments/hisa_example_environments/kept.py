"""An environment that says of itself that what is done in it stays."""

from __future__ import annotations

from hisa.testing import FakeEnvironment


class KeptForm(FakeEnvironment):
    """``--env kept_form``."""

    def __init__(self, value: str, **settings: object) -> None:
        super().__init__()

    @property
    def capabilities(self) -> frozenset[str]:
        """All but "throw_away"."""
        return super().capabilities - {"throw_away"}
