"""Is a wrong value another one in each run, on the same inputs? Then compiled code reads what nobody wrote, or beside a tensor.

What lies there is chance: NaN in this run, a number in the next, the right one in a third. So the compiled function is called
again with something known in all memory that is free, and once more with something else there. A value that is not the same under
both is told as of kind `values`, whatever it was, and as one that `varies`; `by_luck` where one of the two runs was right.
"""

from . import measure, memory

NUMBERS = ("values", "nan", "inf")  # kinds of a wrong number


def mark(torch, found, eager, compiled, smallest):
    """Add that to the facts of each wrong number. `eager`: tensors by name; `compiled` runs the compiled function once more."""
    asked = [facts for facts in found if facts["kind"] in NUMBERS and "words" not in facts]
    if not asked:
        return
    runs = []
    for byte in memory.FILLINGS:
        with memory.fresh_memory_filled(byte), memory.holes_between(torch, byte, eager[asked[0]["item"]].device):
            runs.append(compiled().tensors)
    for facts in asked:
        name = facts["item"]
        values = [run.get(name) for run in runs]
        if any(value is None for value in values) or measure.same_again(torch, *values, smallest(name)):
            continue
        facts.update(kind="values", varies=True)
        facts.update(by_luck=any(measure.same_again(torch, eager[name], value, smallest(name)) for value in values))
        facts.pop("sense", None)
