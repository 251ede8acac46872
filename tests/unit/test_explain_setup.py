"""What `triage explain` is refused for before the program is run."""

import sys
import venv
from pathlib import Path

import pytest

from triage.errors import TargetError
from triage.probe.target import make_target
from triage.session.events import Emitter
from triage.session.settings import load_settings
from triage.stories.explain import explain


def test_an_interpreter_without_torch_is_refused_before_the_program_is_run(tmp_path: Path) -> None:
    script, ran = tmp_path / "train.py", tmp_path / "ran"
    script.write_text(f"open({str(ran)!r}, 'w').close()\nimport torch\n")
    venv.create(tmp_path / "bare", with_pip=False)
    bare = str(tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    settings = load_settings({"python": bare, "out": tmp_path / "out"})
    target = make_target([str(script)], module=None, raw=False, python=bare, cwd=tmp_path)
    with pytest.raises(TargetError, match="There is no torch in"):
        explain(target, (str(script),), settings, Emitter(lambda *told: None))
    assert not ran.exists() and not (tmp_path / "out").exists()
