"""stock"""
from __future__ import annotations
from typing import Any
class StockRoutes:
    def __init__(self, screen: Any, access: Any, *, wrap: Any = None) -> None: ...
    def routes(self) -> dict[tuple[str, str], Any]:
        return {}
