"""Which parts of the compiler an agent says that it counts, on torch with and without PyTorch's own bisector. No torch."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from triage.agent import compat
from triage.agent.compat import inductor
from triage.agent.warm import parts


class Scheduler:
    def can_fuse(self, one, other):
        return True


class Entry:
    def apply(self, match, graph, node):
        return None


class Bisector:
    @classmethod
    def disable_subsystem(cls, backend, subsystem, debug_info=None):
        return False


MISSING = compat.Missing("not there")
OLD = {
    "bisector": MISSING, "subsystems": [], "observer": MISSING, "scheduler": Scheduler, "patterns": [Entry, MISSING],
    "tiling": MISSING, "kernels": MISSING, "operators": MISSING, "decomposed": (),
}  # fmt: skip


@pytest.mark.parametrize(
    ("torch", "counted"),
    [
        (OLD, ["fusion", "pattern matcher"]),
        ({**OLD, "bisector": Bisector, "subsystems": ["lowerings"]}, ["fusion", "lowerings", "pattern matcher"]),
    ],
)
def test_the_parts_that_this_torch_lets_be_counted_are_told(torch, counted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compat, "compiler_parts", lambda: compat.Feature(**torch))
    monkeypatch.setattr(compat, "without_graph_caches", lambda: None)
    for owner, name in ((Scheduler, "can_fuse"), (Entry, "apply"), (Bisector, "disable_subsystem")):
        monkeypatch.setattr(owner, name, owner.__dict__[name])  # put back in the end
    parts.install()
    told = [json.loads(line) for line in (tmp_path / parts.FILE).read_text().splitlines()]
    assert sorted(part for part, number, _ in told if number == 0) == counted
    assert len(told) == len(counted), "nothing has been applied yet"


def test_settings_in_the_table_of_the_bisector_are_no_parts_that_are_counted():
    setting = SimpleNamespace(name="inductor_fallback_random", config_name="inductor", config_field="fallback_random")
    table = {"eager": [], "inductor": [SimpleNamespace(name="lowerings"), setting]}
    assert inductor._subsystems(table) == ["lowerings"]
    assert inductor._subsystems(MISSING) == []
