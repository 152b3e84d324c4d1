"""Freeing what the C library made, at the right time.

When Python's collector finds a cycle, it runs all destructors in it, cffi's among them, before the first object goes; one that
an object of the user's has (`__del__`) may then still read a result or run a method. So while a collection is under way, nothing
is freed; what became free meanwhile goes when it ends.
"""

import gc

from etrt._library import lib

_collecting = False
_waiting = []  # (free, pointer)


def _watch(phase, info):
    global _collecting
    _collecting = phase == "start"
    while not _collecting:
        try:
            free, pointer = _waiting.pop()
        except IndexError:
            return
        free(pointer)


gc.callbacks.append(_watch)


def freeing(free):
    """A destructor for ffi.gc."""

    def destructor(pointer):
        if _collecting:
            _waiting.append((free, pointer))
        else:
            free(pointer)

    return destructor


free_value = freeing(lib.et_value_release)
free_method = freeing(lib.et_method_free)
free_state = freeing(lib.et_state_free)
