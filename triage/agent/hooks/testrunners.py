"""Failing tests: pytest and unittest catch the exception, so it is recorded where they report it.

An expected failure (`xfail`, `expectedFailure`) is no failure of the program. What pytest remembers of a session stays as it is.
What it raises itself (`pytest.fail`, a `pytest.raises` in which nothing was raised) is no `Exception`.
"""

import functools
import json
import threading


def patch_pytest(module, recorder):
    """Watch `_pytest.runner`: what a phase of a test raised is recorded once its report says that it failed."""
    raised = threading.local()
    from_call = module.CallInfo.from_call.__func__
    call_and_report = module.call_and_report

    def keeping(cls, *args, **kwargs):
        raised.call = from_call(cls, *args, **kwargs)
        return raised.call

    @functools.wraps(call_and_report)
    def reporting(*args, **kwargs):
        raised.call = None
        report = call_and_report(*args, **kwargs)
        call, raised.call = raised.call, None
        found = getattr(call, "excinfo", None)  # only now: a unittest.TestCase keeps its own until the report is made
        if found is not None and getattr(report, "failed", False):
            recorder.raised(found.value, "test", test=str(getattr(report, "nodeid", "")))
        return report

    module.CallInfo.from_call = classmethod(keeping)
    module.call_and_report = reporting


def patch_collection(module, recorder, only):
    """Watch `_pytest.main`: how many tests are to run. With `only` (a node id), no other test does, where there is that one."""

    class Chosen:
        @module.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, config, items):
            chosen = [item for item in items if item.nodeid == only]
            if chosen and len(items) > 1:
                config.hook.pytest_deselected(items=[item for item in items if item.nodeid != only])
                items[:] = chosen
            recorder.channel.say("collected", tests=len(items))

    perform_collect = module.Session.perform_collect

    @functools.wraps(perform_collect)
    def collecting(self, *args, **kwargs):
        if not self.config.pluginmanager.has_plugin("triage-chosen"):
            self.config.pluginmanager.register(Chosen(), "triage-chosen")
        return perform_collect(self, *args, **kwargs)

    module.Session.perform_collect = collecting


def patch_cache(module):
    """Watch `_pytest.cacheprovider`: what is set is held for the process, and never written.

    Which tests failed last is for the person's own `--last-failed`: a rung that passes would take them away, and the next run of
    a command with that option would run other tests.
    """
    read, held = module.Cache.get, {}

    def get(self, key, default):
        place = str(getattr(self, "_cachedir", "")), key
        return json.loads(held[place]) if place in held else read(self, key, default)

    def hold(self, key, value):
        held[str(getattr(self, "_cachedir", "")), key] = json.dumps(value)

    module.Cache.get, module.Cache.set = functools.wraps(read)(get), functools.wraps(module.Cache.set)(hold)


def patch_unittest(module, recorder):
    """Watch `unittest.result`: errors, failures, and those of subtests."""
    for name in ("addError", "addFailure", "addSubTest"):
        setattr(module.TestResult, name, _recording(getattr(module.TestResult, name), recorder))


def patch_suite(module, recorder, only):
    """Watch `unittest.suite`: as `patch_collection` does for pytest; `only` is a test's id."""
    run = module.TestSuite.run

    @functools.wraps(run)
    def running(self, result, *args, **kwargs):
        if not getattr(result, "_testRunEntered", False):  # by this unittest knows the outermost suite too
            if only is not None and any(_name(test) == only for test in _tests(self)):
                _leave(self, only)
            recorder.channel.say("collected", tests=self.countTestCases())
        return run(self, result, *args, **kwargs)

    module.TestSuite.run = running


def _tests(suite):
    for item in suite:
        yield from _tests(item) if hasattr(item, "_tests") else [item]


def _leave(suite, only):
    """Take all tests but one from a suite, and the suites that are empty then. Whether that one is in it."""
    suite._tests = [item for item in suite if (_leave(item, only) if hasattr(item, "_tests") else _name(item) == only)]
    return bool(suite._tests)


def _name(test):
    """`test_model.Training.test_step`."""
    try:
        return str(test.id())
    except Exception:
        return ""


def _recording(method, recorder):
    @functools.wraps(method)
    def recorded(self, test, *rest):
        error = rest[-1][1] if rest and isinstance(rest[-1], tuple) else None
        if isinstance(error, BaseException):
            recorder.raised(error, "test", test=_name(test))
        return method(self, test, *rest)

    return recorded
