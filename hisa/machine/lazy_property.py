"""Attributes that are worked out once, when first asked for, by one thread an object.

``functools.cached_property`` holds one lock for all objects of a class up to Python 3.11, so that
two threads that encode two pictures wait for each other; from 3.12 on it holds none, and two
threads that ask for the same picture both encode it.
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

    A value that is the object itself is not kept: an object that holds itself is freed by the
    collector alone, which seldom looks at a run's screens of some megabytes.

    Args:
        make: takes the object, returns the value; it may ask for others of the same object.
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
