"""What is watched of a program that is to be explained, as a table of modules and what is done to them.

The hooks are a few microseconds around events that cost milliseconds (a break, a recompilation, a compile); nothing of
them runs inside a step, but two readings of the clock around the outermost compiled call.
"""

import importlib

from . import breaks, recompiles, times


def patches(recorder):
    """Module names, each with the function that hooks it right after its import."""
    clock = times.CallClock(recorder)
    recorder.at_end.append(clock.tell)
    watcher = breaks.Breaks(recorder.channel)
    seen = recompiles.Recompiles(recorder.channel)

    def convert_frame(module):
        watcher.watch_frames(module)
        seen.watch(module)

    return {
        "torch._dynamo.exc": watcher.watch_exceptions,
        "torch._dynamo.symbolic_convert": watcher.watch_log,
        "torch._dynamo.output_graph": watcher.watch_subgraphs,
        "torch._dynamo.convert_frame": convert_frame,
        "torch._dynamo.config": lambda module: _set(
            module, recorder.config.get("dynamo_settings") or {}, recorder.channel
        ),
    }


def _set(config, settings, channel):
    """Settings of Dynamo that a cure needs; one that this release does not have is left out, and told.

    A list names functions (`builtins.print`), which are added to those that are set.
    """
    for name, value in settings.items():
        if hasattr(config, name):
            added = {_named(each) for each in value} | getattr(config, name) if isinstance(value, list) else value
            setattr(config, name, added)
        else:
            channel.say("no_such_setting", name=name)


def _named(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
