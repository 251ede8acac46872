"""Run a function right after a module has been imported, whoever imports it and when.

One finder at the head of `sys.meta_path` that finds nothing itself: for the few names it watches it asks the other
finders, and wraps the loader that they give.
"""

import contextlib
import gc
import importlib.abc
import importlib.util
import sys

from . import settled

# A quarter of the time that these take goes into looking for garbage among what they define, which is none.
LARGE = ("torch", "torch._dynamo", "torch._inductor", "torch._inductor.compile_fx")


@contextlib.contextmanager
def garbage_kept():
    """No garbage collection in here, if there was one before; what it would have found it finds afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _PatchingLoader(importlib.abc.Loader):
    def __init__(self, loader, patch):
        self._loader, self._patch = loader, patch

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        # The module must keep its own loader: resources, sources and reloads go through it.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        aside = module.__name__ == "torch" and settled.can_be_set_aside()
        with garbage_kept() if module.__name__ in LARGE else contextlib.nullcontext():
            self._loader.exec_module(module)
        if aside:
            settled.set_aside()
        _safely(self._patch, module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Watcher(importlib.abc.MetaPathFinder):
    def __init__(self, patches):
        self._patches = dict(patches)
        self._busy = set()

    def find_spec(self, name, path=None, target=None):
        patch = self._patches.get(name)
        if patch is None or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = importlib.util.find_spec(name) if path is None else _find(name, path, target, self)
        finally:
            self._busy.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _PatchingLoader(spec.loader, patch)
        return spec


def _find(name, path, target, asking):
    for finder in list(sys.meta_path):
        if finder is asking or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


def _safely(patch, module):
    try:
        patch(module)
    except Exception as error:
        sys.stderr.write("triage: %s could not be hooked: %s: %s\n" % (module.__name__, type(error).__name__, error))


def after_import(patches):
    """`patches` maps module names to functions of the module; those already imported are patched at once."""
    waiting = {}
    for name, patch in patches.items():
        module = sys.modules.get(name)
        if module is not None:
            _safely(patch, module)
        else:
            waiting[name] = patch
    if waiting:
        sys.meta_path.insert(0, _Watcher(waiting))
