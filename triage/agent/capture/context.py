"""The state a graph runs under, as the fields of `GraphCase.Context`: what torch is told outside of the graph."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import Any, Dict, List

from .. import compat
from . import numerics, surroundings

# Settings that say where things go or how much is printed: they cannot matter to a failure.
_IRRELEVANT = re.compile(
    r"\.(repro_|log_|verbose|debug_dir|compile_threads|worker_|trace\.|minifier_|autotune_(local|remote)|suppress_errors"
    r"|_save_config_ignore|_cache_config|profile|save_args|\w*(_cache|_dir|_path) = )"
)
# torch sets these itself while it compiles (for dynamic=True, and for the fake tensor guards of AOTAutograd).
_ITS_OWN = re.compile(
    r"\.(assume_static_by_default|automatic_dynamic_shapes|fake_tensor_allow_\w+|unlift_effect_tokens"
    r"|allow_non_fake_inputs|error_on_nested_jit_trace|reorderable_logging_functions) = "
)
_PLAIN = re.compile(
    r"^torch\.[\w.]+ = (True|False|None|-?[\d.]+(e-?\d+)?|'[^'/\\]*'|\"[^\"/\\]*\"|[\[({][^/\\<>]*[\])}])$"
)


def current_context() -> Dict[str, Any]:
    """The Context fields that can be read off the interpreter now; how torch.compile was called is not among them."""
    import torch

    context: Dict[str, Any] = {
        "grad_enabled": bool(torch.is_grad_enabled()),
        "inference_mode": bool(torch.is_inference_mode_enabled()),
        "autocast": [],
        "deterministic": False,
        "config": [],
    }
    for key, read in (
        ("autocast", _autocast),
        ("deterministic", torch.are_deterministic_algorithms_enabled),
        ("config", config_lines),
    ):
        try:
            context[key] = read()
        except Exception:  # a torch without this state: it cannot be on
            pass
    return context


def _autocast() -> List[str]:
    for device in ("cuda", "cpu"):
        enabled, dtype = compat.autocast_of(device)
        if enabled:
            return [device, str(dtype).split(".")[-1]]
    return []


def config_lines() -> List[str]:
    """Settings of torch._dynamo, _inductor and _functorch that differ from their defaults, or that the program's own
    environment variables made what they are, as statements; and how exactly it is told to compute.
    """
    import sys

    lines: List[str] = []
    variables = surroundings.changed()
    for name in ("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config"):
        module = sys.modules.get(name)
        if module is None:
            continue
        try:
            text = module.codegen_config()
        except Exception:
            continue
        lines += [line for line in text.splitlines() if _relevant(line) and not _is_default(module, name, line)]
        lines += filter(_relevant, _by_environment(module, name, variables))
    return list(dict.fromkeys([*numerics.numerics_lines(), *lines]))


def _by_environment(module: Any, name: str, variables: List[str]) -> List[str]:
    found = []
    for key in surroundings.settings_of(module, variables):
        try:
            found.append("%s.%s = %r" % (name, key, attrgetter(key)(module)))
        except AttributeError:  # a name of the file that is no setting
            continue
    return found


def _is_default(module: Any, name: str, line: str) -> bool:
    """Whether a setting was set to what it is by default, as `config.patch` does when it restores."""
    key = line[len(name) + 1 : line.index(" = ")]
    default = compat.default_setting(module, key)
    return not isinstance(default, compat.Missing) and default == attrgetter(key)(module)


def _relevant(line: str) -> bool:
    return bool(_PLAIN.match(line)) and not _IRRELEVANT.search(line) and not _ITS_OWN.search(line)
