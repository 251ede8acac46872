"""The program with a changed text in the place of some of its files, none of which is touched.

`{path of a file of the program: path of the text that it has in this run}` comes from the probe. The text is compiled under
the file's own name and put before `linecache`, so that tracebacks and `inspect.getsource` show what is run. Modules are
changed in the loader of source files, files of tests where pytest rewrites their assertions, the script itself, which Python
runs from C, by starting the interpreter anew on `overlay_main.py`.
"""

import importlib.machinery
import io
import os
import sys
import tokenize
import types

MAIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "overlay_main.py")
_WITH_VALUE = "WX"  # letters of options that take a value: the rest of the word, or the next one

_texts = {}  # by the real path of the file
_kept = []  # the module that started the script: what still runs in it must not be cleaned away
_names = set()  # how they end: most files need no look at the disk


def install(overlay):
    """Change modules, and files that `runpy` or pytest read. The main script is left to `restart` and `run_script`."""
    for path, changed in overlay.items():
        with open(changed, "rb") as file:
            _texts[os.path.realpath(path)] = file.read()
        _names.update((os.path.basename(path), os.path.basename(os.path.realpath(path))))
    loader = importlib.machinery.SourceFileLoader
    get_code, get_data = loader.get_code, loader.get_data

    def changed_code(self, fullname):
        path = self.get_filename(fullname)
        text = text_of(path)
        if text is None:
            return get_code(self, fullname)
        _show(path, text)
        return self.source_to_code(text, path)  # not what a .pyc holds

    def changed_data(self, path):
        text = text_of(path)
        return get_data(self, path) if text is None else text

    loader.get_code, loader.get_data = changed_code, changed_data


def text_of(path):
    """The changed text of this file as bytes; None where it is read as it is."""
    try:
        known = os.path.basename(path) in _names
        return _texts.get(os.path.realpath(path)) if known else None
    except (TypeError, ValueError):
        return None


def script_text(path):
    """What is run of a script: its changed text, which tracebacks and `inspect` show from then on, or what its file holds."""
    text = text_of(os.path.realpath(path))
    if text is not None:
        _show(path, text)
        return text
    with open(path, "rb") as file:
        return file.read()


def _show(path, text):
    """What tracebacks and `inspect` show of the file. An entry without a time is not compared with the disk."""
    import linecache

    encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
    lines = io.TextIOWrapper(io.BytesIO(text), encoding=encoding).readlines()
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[path] = (len(text), None, lines, path)


def patch_runpy(module):
    """Watch `runpy`: processes that multiprocessing spawns run the main script once more, by its path."""
    original = module._get_code_from_file

    def code_from_file(*args):
        text = text_of(args[-1])
        if text is None:
            return original(*args)
        path = os.path.abspath(args[-1])
        _show(path, text)
        code = compile(text, path, "exec", dont_inherit=True)
        return code if sys.version_info >= (3, 12) else (code, args[-1])

    module._get_code_from_file = code_from_file


def patch_rewriting(module):
    """Watch `_pytest.assertion.rewrite`, which reads the file of a test itself."""
    read_pyc, rewrite_test = module._read_pyc, module._rewrite_test

    def no_pyc(source, *args, **kwargs):
        return read_pyc(source, *args, **kwargs) if text_of(str(source)) is None else None

    def rewrite(path, *args, **kwargs):
        text = text_of(str(path))
        if text is None:
            return rewrite_test(path, *args, **kwargs)
        _show(str(path), text)
        return rewrite_test(_Changed(path, text), *args, **kwargs)

    module._read_pyc, module._rewrite_test = no_pyc, rewrite


class _Changed(object):
    """A path whose file holds another text."""

    def __init__(self, path, text):
        self._path, self._text = path, text

    def read_bytes(self):
        return self._text

    def __fspath__(self):
        return os.fspath(self._path)

    def __str__(self):
        return str(self._path)

    def __getattr__(self, name):
        return getattr(self._path, name)


# -- the main script ---------------------------------------------------------------------------------------------------


def script_at(words):
    """The place of the script among the words of a command line; None where Python runs no file, or nothing is known."""
    place = 1
    while place < len(words):
        word = words[place]
        if word in ("-", "--"):
            return None
        if not word.startswith("-"):
            return place
        place += 1
        if word.startswith("--"):
            place += word == "--check-hash-based-pycs"
            continue
        for at, letter in enumerate(word[1:], 2):
            if letter in "cm":
                return None
            if letter in _WITH_VALUE:
                place += at == len(word)
                break
    return None


def restart(overlay):
    """Start this interpreter anew where its script is one of the changed files. Called before anything else has run.

    Returns where there is nothing to change. On Python 3.9, which does not tell its own command line, Linux does.
    """
    words = list(getattr(sys, "orig_argv", None) or _command_line())
    place = script_at(words)
    if place is None:
        return
    changed = {os.path.realpath(path) for path in overlay}
    if os.path.realpath(words[place]) in changed:
        os.execv(sys.executable, [sys.executable, *words[1:place], MAIN, *words[place:]])


def _command_line():
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def run_script(words):
    """Run a changed script as `python SCRIPT ARGS` does; `words` are the script and its arguments."""
    name = words[0]
    path = os.path.join(os.getcwd(), name)  # as Python itself makes it absolute
    text = script_text(path)  # of the file where the agent could not be installed, and has said so
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    sys.argv[:] = words
    if hasattr(sys, "orig_argv"):
        sys.orig_argv.remove(MAIN)
    ours = sys.modules["__main__"]
    _kept.append(ours)
    module = types.ModuleType("__main__")
    module.__dict__.update(
        __builtins__=ours.__builtins__,
        __annotations__={},
        __file__=path,
        __cached__=None,
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        __package__=None,
    )
    sys.modules["__main__"] = module
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
