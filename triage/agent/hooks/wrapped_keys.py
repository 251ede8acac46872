"""Keys of a checkpoint that differ from the model's by `_orig_mod.` alone, which `strict=False` passes over in silence.

The wrapper that torch.compile puts around a module puts it before the names of its parameters; what was saved with it and is
loaded without it, or the other way round, stays as it was initialised. Watched once the program has made such a wrapper.
"""

import functools

PREFIX = "_orig_mod."
TOLD_AT_MOST = 5


def watch(torch, recorder):
    """Watch what modules load for the rest of the run."""
    original = torch.nn.Module.load_state_dict
    if hasattr(original, "_triage_original"):
        return

    @functools.wraps(original)
    def load_state_dict(*args, **kwargs):
        result = original(*args, **kwargs)
        try:
            keys = passed_over(result.missing_keys, result.unexpected_keys)
            if keys:
                recorder.channel.say("orig_mod_keys", keys=keys[:TOLD_AT_MOST])
        except Exception:  # a module that returns something else
            return result
        return result

    load_state_dict._triage_original = original
    torch.nn.Module.load_state_dict = load_state_dict


def passed_over(missing, unexpected):
    """The keys that were not taken for those which are missing, though they are the same but for the prefix."""
    wanted = {key.replace(PREFIX, "") for key in missing}
    return [key for key in unexpected if key.replace(PREFIX, "") in wanted]
