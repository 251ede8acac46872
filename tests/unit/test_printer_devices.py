"""A graph on a GPU prints as a person writes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from printer_cases import case, node, tensor

from triage.model.graphcase import GraphCase
from triage.reduce.printing.printer import print_case


def on(*devices: str) -> GraphCase:
    inputs = [tensor(name, 4) for name, _ in zip("xy", devices, strict=False)]
    inputs = [
        replace(item, meta=replace(item.meta, device=device))
        for item, device in zip(inputs, devices, strict=True)
        if item.meta is not None
    ]
    nodes = [node(f"n{item.name}", "torch.relu", f"%{item.name}", out=item.meta) for item in inputs]
    return case(inputs, nodes, *(f"%{each.name}" for each in nodes))


@pytest.mark.parametrize(
    ("devices", "printed"),
    [(("cuda:0",), ("cuda",)), (("cuda:1",), ("cuda:1",)), (("cuda:0", "cuda:1"), ("cuda:0", "cuda:1"))],
)
def test_a_device_is_numbered_where_there_are_several(devices: tuple[str, ...], printed: tuple[str, ...]) -> None:
    text = print_case(on(*devices))
    assert all(f'device="{device}"' in text for device in printed)
    assert text.count('"cuda') == len(printed)
