"""What a sweep is refused for before it begins."""

import sys
import venv
from pathlib import Path

import pytest

from triage.errors import TargetError
from triage.stories.sweep_setup import set_up_sweep


def test_an_interpreter_without_torch_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    venv.create(tmp_path / "bare", with_pip=False)
    bare = tmp_path / "bare" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    with pytest.raises(TargetError, match="There is no torch in"):
        set_up_sweep([str(tmp_path / "train.py")], tmp_path / "out", None, str(bare), again=False)
    assert not (tmp_path / "out").exists()
