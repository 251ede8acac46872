"""One step of a program through `torch.profiler`: what ran, inside of compiled graphs and outside, and a Chrome trace of it.

What ran belongs to a compiled graph where Dynamo's own mark, or that of the graph's backward pass, lies around it (names of
torch/_dynamo and torch/_inductor since 2.1). Kernels that Inductor makes for a CPU carry a mark of their own only where
`cpp.enable_kernel_profile` is set; they are named after the operations in them.
"""

import re
import time

MOST_ROWS = 400
_INSIDE = ("Torch-Compiled Region", "CompiledFunctionBackward", "## Call CompiledFxGraph", "Call CompiledFxGraph")
_KERNEL = re.compile(r"(?:graph_\d+_)?(?:cpp|triton)(?:_(?:poi|red|per|tem|for))?_fused_(?P<names>\w*?)(?:_\d+)?$")


def mark_kernels(inductor_config):
    """Have the kernels for a CPU tell the profiler their names; torch without the option has no names to tell."""
    if hasattr(getattr(inductor_config, "cpp", None), "enable_kernel_profile"):
        inductor_config.cpp.enable_kernel_profile = True


class Profiling(object):
    """The profile of one step. `end` returns what is told of it."""

    def __init__(self, torch):
        self._torch = torch
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        self._profile = torch.profiler.profile(activities=kinds)
        self._profile.__enter__()
        self._began = time.perf_counter()

    def end(self):
        """Seconds of the step, and its rows: [name, inside, operations fused, times, seconds, seconds on the device]."""
        if self._torch.cuda.is_available():
            self._torch.cuda.synchronize()
        wall = time.perf_counter() - self._began
        self._profile.__exit__(None, None, None)
        events = [event for event in self._profile.events() if not _on_device(event)]
        rows, parts = {}, {}
        for event in events:
            above = list(_above(event))
            inside = any(each.name.startswith(_INSIDE) for each in (event, *above))
            row = rows.setdefault((event.name, inside), [0, 0.0, 0.0])
            row[0] += 1
            row[1] += event.self_cpu_time_total / 1e6
            row[2] += _device_microseconds(event) / 1e6
            if not above:
                compiled = inside or any(name in event.name for name in _INSIDE)
                part = parts.setdefault((event.name, compiled), [0, 0.0])
                part[0] += 1
                part[1] += event.cpu_time_total / 1e6
        told = [
            [name, inside, fused_in(self._torch, name), *facts]
            for (name, inside), facts in sorted(rows.items(), key=lambda item: -max(item[1][1:]))
        ]
        outer = [
            [name, compiled, *facts]
            for (name, compiled), facts in sorted(parts.items(), key=lambda item: -item[1][1])
        ]  # fmt: skip
        return {"step": wall, "rows": told[:MOST_ROWS], "parts": outer[:MOST_ROWS]}

    def export(self, path):
        """The Chrome trace of the step."""
        self._profile.export_chrome_trace(path)


def fused_in(torch, name):
    """The operations in a kernel of Inductor's, from its name; none for what is no such kernel.

    `cpp_fused__softmax_add_0`: names are joined by what they may begin with, so the longest that ATen knows are taken.
    """
    found = _KERNEL.match(name)
    if found is None:
        return []
    words, names = found.group("names").split("_"), []
    while words:
        for length in range(len(words), 0, -1):
            joined = "_".join(words[:length])
            if joined.strip("_") and hasattr(torch.ops.aten, joined):
                names.append(joined)
                break
        else:
            length = 1
        words = words[length:]
    return names


def _above(event):
    while event.cpu_parent is not None:
        event = event.cpu_parent
        yield event


def _on_device(event):
    return str(getattr(event, "device_type", "")).endswith(("CUDA", "XPU"))


def _device_microseconds(event):
    for name in ("self_device_time_total", "self_cuda_time_total"):
        if hasattr(event, name):
            return getattr(event, name)
    return 0.0
