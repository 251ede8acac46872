"""What a candidate may not do: change a file outside of its own directory. One process tries everything, without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Run in the confined process: each statement for itself, with `inside` and `outside` as directories.
PROGRAM = """
import builtins, io, json, os, pathlib, shutil, sys, tempfile
statements, inside, outside = json.loads(sys.stdin.read())
os.chdir(inside)
import types
torch = types.ModuleType("torch")
torch._C = types.SimpleNamespace(PyTorchFileWriter=lambda name, *rest: ("written", name))
sys.modules["torch"] = torch
from triage.agent.hooks import confine
confine.install([inside, None])
ended = {}
for name, statement in statements.items():
    try:
        exec(statement, {**globals()})
        ended[name] = "done"
    except confine.OutsideError as error:
        ended[name] = "refused"
    except Exception as error:
        ended[name] = repr(error)
print(json.dumps(ended))
"""
REFUSED = {
    "write": "open(outside + '/new', 'w')",
    "append": "open(outside + '/old', 'a')",
    "exclusive": "open(outside + '/new', 'x')",
    "update": "open(outside + '/old', 'r+')",
    "bytes path": "open(os.fsencode(outside + '/new'), 'wb')",
    "pathlib": "pathlib.Path(outside, 'new').write_text('x')",
    "above": "open(os.path.relpath(outside + '/new'), 'w')",
    "descriptor": "os.open(outside + '/old', os.O_WRONLY)",
    "create": "os.open(outside + '/new', os.O_CREAT)",
    "a directory": "os.makedirs(outside + '/a/b')",
    "remove": "os.remove(outside + '/old')",
    "unlink": "pathlib.Path(outside, 'old').unlink()",
    "remove a directory": "os.rmdir(outside + '/folder')",
    "a whole tree": "shutil.rmtree(outside + '/folder')",
    "rename out": "os.rename(inside + '/mine', outside + '/new')",
    "rename in": "os.rename(outside + '/old', inside + '/taken')",
    "replace": "os.replace(inside + '/mine', outside + '/old')",
    "move": "shutil.move(outside + '/old', inside + '/taken')",
    "copy out": "shutil.copyfile(inside + '/mine', outside + '/new')",
    "link": "os.link(inside + '/mine', outside + '/new')",
    "symbolic link": "os.symlink(inside + '/mine', outside + '/new')",
    "through a link": "open(inside + '/link/old', 'w')",
    "truncate": "os.truncate(outside + '/old', 0)",
    "chmod": "os.chmod(outside + '/old', 0o600)",
    "utime": "os.utime(outside + '/old')",
    "a name that begins alike": "open(inside + '-too', 'w')",
    "torch.save": "torch._C.PyTorchFileWriter(outside + '/weights.pt')",
}
ALLOWED = {
    "read": "assert open(outside + '/old').read() == 'old'",
    "list": "os.listdir(outside)",
    "write inside": "open(inside + '/new', 'w').write('x')",
    "write here": "open('here', 'w').close(); os.remove('here')",
    "folders inside": "os.makedirs(inside + '/a/b'); shutil.rmtree(inside + '/a')",
    "rename inside": "os.rename(inside + '/mine', inside + '/other'); os.rename(inside + '/other', inside + '/mine')",
    "copy in": "shutil.copyfile(outside + '/old', inside + '/copied')",
    "a link to outside": "os.symlink(outside + '/old', inside + '/pointer')",
    "an open descriptor": "os.write(os.open(inside + '/new', os.O_WRONLY), b'y')",
    "the null device": "open(os.devnull, 'w').write('x')",
    "a cache of the compiler": "os.makedirs(os.path.join(tempfile.gettempdir(), 'torchinductor_me', 'x'))",
    "a cache of Triton": "os.makedirs(os.path.expanduser('~/.triton/cache'))",
    "torch.save inside": "assert torch._C.PyTorchFileWriter(inside + '/weights.pt')[0] == 'written'",
    "torch.save to a stream": "assert torch._C.PyTorchFileWriter(io.BytesIO())[0] == 'written'",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory) -> dict[str, str]:
    """How each statement ended, and below `after` what lies outside."""
    place = tmp_path_factory.mktemp("confined")
    inside, outside, home, temporary = (place / name for name in ("in", "out", "home", "tmp"))
    for folder in (inside, outside, home, temporary, outside / "folder"):
        folder.mkdir()
    (inside / "mine").write_text("mine")
    (outside / "old").write_text("old")
    (inside / "link").symlink_to(outside)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(home), "TMPDIR": str(temporary)}
    asked = json.dumps([REFUSED | ALLOWED, str(inside), str(outside)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=asked, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    after = {item.name: item.read_text() if item.is_file() else "" for item in outside.iterdir()}
    assert after == {"old": "old", "folder": ""} and not (place / "in-too").exists()
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", REFUSED)
def test_a_change_outside_is_refused(ended, name):
    assert ended[name] == "refused"


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_no_change_of_the_persons_files_is_allowed(ended, name):
    assert ended[name] == "done"


ASKED = """
import os, sys
from triage.agent.hooks import confine
confine.install_if_asked(sys.argv[1])
assert confine.VARIABLE not in os.environ, "what it starts is not confined by chance"
for folder in sys.argv[1:]:
    try:
        open(os.path.join(folder, "written"), "w").close()
        print("done")
    except PermissionError as error:
        print(error.strerror)
"""


@pytest.mark.parametrize("asked", [True, False])
def test_a_process_of_its_own_is_confined_where_the_variable_names_a_directory(tmp_path, asked):
    channel, place, temporary, other = (tmp_path / name for name in ("channel", "place", "tmp", "other"))
    for folder in (channel, place, temporary, other):
        folder.mkdir()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    env = {name: value for name, value in env.items() if name not in ("TRIAGE_CONFINE", "TORCHINDUCTOR_CACHE_DIR")}
    env |= {"TRIAGE_CONFINE": str(place)} if asked else {}
    done = subprocess.run(
        [sys.executable, "-c", ASKED, *map(str, (channel, place, temporary, other))],
        env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    last = "a candidate may not write outside of its own directory" if asked else "done"
    assert done.stdout.splitlines() == ["done", "done", "done", last]
