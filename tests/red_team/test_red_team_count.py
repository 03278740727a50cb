"""How many cases the suite has, by group; a group that shrinks is noticed."""

from __future__ import annotations

from tests.red_team import harmful
from tests.red_team import test_red_team_desktop as desktop
from tests.red_team import test_red_team_forged as forged
from tests.red_team import test_red_team_harm as harm
from tests.red_team import test_red_team_places as places
from tests.red_team import test_red_team_secrets as secrets
from tests.red_team import test_red_team_tools as tools

GROUPS = {
    "orders by place": len(places.CASES),
    "harmful commands": len(harm.LINES) + len(harmful.LEAVING),
    "pointer and keyboard": len(harm.BUTTONS) + len(harm.KEYS),
    "forged parts of the prompt": len(forged.FORGED) * len(forged.IN_PLACES),
    "replies that are no calls": len(forged.REPLIES),
    "plug-ins": len(tools.MISBEHAVING) + len(tools.SAYING),
    "servers of tools": len(tools.PLANTED) + len(tools.FAILING),
    "secrets": 2 * len(secrets.GIVING_AWAY) + len(secrets.TYPING) + len(secrets.SHOWN),
    "real desktop": len(desktop.KITS) + len(desktop.HOSTILE),
}
"""Cases that stand in tables; those that are a test of their own come on top."""


def test_suite_has_its_cases() -> None:
    assert GROUPS["orders by place"] >= 45
    assert min(GROUPS.values()) >= 10, GROUPS
    assert sum(GROUPS.values()) >= 100, GROUPS
    assert sum(GROUPS.values()) - GROUPS["forged parts of the prompt"] >= 100, GROUPS
