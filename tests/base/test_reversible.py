"""Containers of all builtin classes, and of subclasses that do something of their own, get back what they had."""

from collections import Counter, OrderedDict, defaultdict, deque

import pytest

from msjax.core.base.trial_run import put_back


class Noted(dict):
    """A dict that notes what is assigned."""

    assigned = ()

    def __setitem__(self, key, value):
        self.assigned = (*self.assigned, key)
        super().__setitem__(key, value)


class Doubled(list):
    def extend(self, items):
        super().extend(2 * item for item in items)


@pytest.mark.parametrize("kind", [dict, Counter, OrderedDict, lambda items: defaultdict(int, items), Noted])
def test_a_dict(kind):
    container = kind({"a": 1, "b": 2})
    before = container.copy()
    container["a"] += 5
    container["c"] = 6
    assert put_back(container, before)
    assert list(container.items()) == [("a", 1), ("b", 2)]
    assert getattr(container, "assigned", ("a", "c")) == ("a", "c")


@pytest.mark.parametrize("kind", [list, lambda items: deque(items, maxlen=2), Doubled])
def test_a_sequence(kind):
    container = kind([1, 2])
    before = container.copy()
    container.append(3)
    assert put_back(container, before) and list(container) == [1, 2] and not put_back(container, before)
