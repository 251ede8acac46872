"""A script that fails uncompiled while its module is still wrapped by torch.compile: is it that wrapper?

An uncompiled run keeps the wrapper, as programs rely on it. But it has another class, and it puts `_orig_mod.` before the names
of parameters: code that looks at these fails with it, and passes without torch.compile. So the script is run once more where
torch.compile gives each module back as it is. Every run here has the same seeds: what chance decides is no wrapper's doing.
Where a program draws its own (from the time, from the system), a coin would fall so in one of eight: so it is asked more than
once, and two runs without the wrapper must print the same.
"""

from __future__ import annotations

from dataclasses import replace

from triage.judge.printed import REPEATS, differing
from triage.judge.skeleton import skeleton
from triage.locate.conclude import Conclusion
from triage.locate.leftovers import looks_alike
from triage.locate.printed import printed_by
from triage.locate.walk import Walk
from triage.model.rungs import UNCOMPILED
from triage.model.stage import OutcomeKind, OwnFault
from triage.probe.run import Probe

UNWRAPPED = replace(UNCOMPILED, name="uncompiled, unwrapped")
PREFIX = "_orig_mod."
AGAIN, QUICK = ("again", "third", "fourth"), 20.0  # with and without; once only where a run takes more seconds
_NAMES = ("OptimizedModule", "_orig_mod")  # its class, and the attribute in which it keeps the module


def worth_checking(walk: Walk, found: Conclusion) -> bool:
    """Whether the wrapper may be why the script fails uncompiled. One that hangs would be waited for twice more."""
    asked = walk.unwrapped is not None or found.outcome is None or found.outcome.kind is OutcomeKind.HANG
    return found.own_fault is OwnFault.WRAPPED and not asked


def check(walk: Walk) -> None:
    """Run the script without the wrapper; where that passes, in turn with it and without, until chance is no explanation."""
    failed = walk.seen[UNCOMPILED.name][-1]

    def run(name: str, *, unwrapped: bool) -> Probe:
        return walk.ask_with_seed(UNWRAPPED if unwrapped else UNCOMPILED, name, failed, unwrapped=unwrapped)

    first = run("unwrapped", unwrapped=True)
    fault = _without(first, failed)
    walk.unwrapped = fault if fault is not OwnFault.WRAPPER else OwnFault.WRAPPED  # until it has come again
    if fault is not OwnFault.WRAPPER:
        return
    for turn in AGAIN[:1] if first.outcome.seconds > QUICK or _names_it(failed) else AGAIN:
        wrapped = run(f"wrapped-{turn}", unwrapped=False)
        if wrapped.outcome.kind is OutcomeKind.OK:
            walk.unwrapped = OwnFault.BY_CHANCE
        if not looks_alike(wrapped, failed):
            return
        plain = run(f"unwrapped-{turn}", unwrapped=True)
        again = _without(plain, failed)
        if again is not OwnFault.WRAPPER or differing(printed_by(first), printed_by(plain), REPEATS):
            walk.unwrapped = OwnFault.WRAPPED if again is OwnFault.WRAPPED else OwnFault.BY_CHANCE
            return
    walk.unwrapped = fault


def _names_it(failed: Probe) -> bool:
    """Whether the error speaks of the wrapper, which no chance makes it do."""
    error = failed.outcome.exception
    return error is not None and any(name in level.message for level in (error, error.innermost()) for name in _NAMES)


def _without(probe: Probe, failed: Probe) -> OwnFault:
    """What a run without the wrapper shows of the failure. Another failure, or no end, shows nothing."""
    if probe.outcome.kind is OutcomeKind.OK:
        return OwnFault.WRAPPER
    return OwnFault.UNCOMPILED if looks_alike(_unnamed(probe), _unnamed(failed)) else OwnFault.WRAPPED


def _unnamed(probe: Probe) -> Probe:
    """With the names of parameters in its failure as they are without the wrapper."""
    signature = probe.signature
    if signature is None:
        return probe
    plain = skeleton(signature.skeleton.replace(PREFIX, ""))  # "0.weight" begins with a number, with the prefix not
    return replace(probe, signature=replace(signature, skeleton=plain))
