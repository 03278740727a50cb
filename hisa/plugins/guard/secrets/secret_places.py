"""Checks where a secret may go: the application in front, its page, a command."""

from __future__ import annotations

from hisa.errors import ActionRefused
from hisa.plugins.guard.policy.effect_words import ADDRESS_BAR
from hisa.plugins.guard.policy.named_sites import read_url
from hisa.plugins.guard.secrets.secret_pictures import list_focused
from hisa.plugins.guard.secrets.secret_store import Secret, fits
from hisa.screen.observation import Element, Observation
from hisa.text.redact.named_secrets import placeholder

__all__ = ["check_command", "check_typing"]


def check_typing(secret: Secret, observation: Observation) -> None:
    """Refuse to type a secret where it does not belong.

    Raises:
        ActionRefused: the application or page in front is not one that the secret is for, or not
            known, or the address bar has the focus.
    """
    name, app = placeholder(secret.name), observation.active.app if observation.active else ""
    if secret.apps and not fits(app, secret.apps):
        allowed = ", ".join(secret.apps)
        raise ActionRefused(
            f"{name} may be typed only into {allowed}; in front is {app or 'nothing known'!r}"
        )
    if any(
        map(_is_address_bar, list_focused(observation))
    ):  # a field of the page may still be marked as having the focus
        raise ActionRefused(f"{name} is not typed into an address bar, which sends what is typed")
    if secret.sites:
        _check_site(secret, observation)


def _check_site(secret: Secret, observation: Observation) -> None:
    bars = [
        bar
        for bar in observation.elements or ()
        if _is_address_bar(bar) and _is_in_front(bar, observation)
    ]
    shown_by = (read_url(bar.text) for bar in bars)
    hosts = {url.host if url else "" for url in shown_by}
    if not hosts or not all(host and fits(host, secret.sites) for host in hosts):
        shown = ", ".join(sorted(host or "no site" for host in hosts)) or "no address bar is seen"
        raise ActionRefused(
            f"{placeholder(secret.name)} may be typed only into pages of "
            f"{', '.join(secret.sites)}; in front is: {shown}"
        )


def _is_address_bar(element: Element) -> bool:
    return "editable" in element.states and bool(ADDRESS_BAR.search(element.name))


def _is_in_front(element: Element, observation: Observation) -> bool:
    return (
        observation.active is None
        or not element.window
        or element.window == observation.active.title
    )


def check_command(secret: Secret, command: str) -> None:
    """Refuse a command that may not have a secret.

    Args:
        secret: the secret that the command names.
        command: the single command of a line that names it, as it was written.

    Raises:
        ActionRefused: it matches no pattern of the secret's ``commands``.
    """
    if not fits(command, secret.commands):
        name = placeholder(secret.name)
        allowed = ", ".join(secret.commands) or "none"
        raise ActionRefused(
            f"{name} may not go to {command!r}; commands that may have it: {allowed}"
        )
