"""Properties that are computed once, at first use, by one thread per object.

``functools.cached_property`` holds one lock for all objects of a class up to Python 3.11, so two
threads that encode two pictures wait for each other. From 3.12 on it holds none, so two threads
that need the same picture both encode it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy_property"]

T = TypeVar("T")
_LOCK = "_made_once_lock"


class lazy_property(Generic[T]):
    """A property whose value is kept in its object's ``__dict__``.

    A value that is the object itself is not kept: only the garbage collector frees an object that
    refers to itself, and it runs too seldom for a run's screenshots of some megabytes each.

    Args:
        make: takes the object, returns the value; it may use other such properties of the object.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        attributes = instance.__dict__
        with attributes.setdefault(_LOCK, threading.RLock()):
            if self._name in attributes:
                stored: T = attributes[self._name]
                return stored
            value = self._make(instance)
            if value is not instance:
                attributes[self._name] = value
        return value
