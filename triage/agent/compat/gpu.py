"""What this process has of a GPU: how much of its memory, and whether it can still be used."""

import sys

CONTEXT_BYTES = 1 << 30  # of the driver and its libraries in each process: half of it to all of it, by the card


def peak_bytes():
    """The most memory that tensors had on the current GPU; None where none was used."""
    return _asked(lambda cuda: int(cuda.max_memory_allocated()))


def share():
    """The most that this process had of the memory of the GPU that it used most, from 0 to 1; None where none was used."""
    return _asked(lambda cuda: round(max(_share_of(cuda, number) for number in range(cuda.device_count())), 3))


def free_bytes(device):
    """What is free of the memory of this device (`cuda:0`); None where that is no GPU that tells."""
    return _asked(lambda cuda: int(cuda.mem_get_info(device)[0])) if device.type == "cuda" else None


def records():
    """Whether what the GPU is told now becomes part of a CUDA graph: whoever waits for it then, or reads from it, spoils that."""
    cuda = sys.modules["torch"].cuda
    return cuda.is_initialized() and cuda.is_current_stream_capturing()


def can_read(tensor):
    """Whether its values can be looked at now, as far as that hangs on where they lie."""
    kind = tensor.device.type
    return kind != "meta" and not (kind == "cuda" and records())


def wait():
    """Until the GPU has done what it was told, where one is used. Raises what its kernels failed with."""
    cuda = sys.modules["torch"].cuda
    if cuda.is_initialized() and not records():
        cuda.synchronize()


def is_lost():
    """Whether a kernel has failed: from then on nothing on a GPU can be read in this process."""
    try:
        wait()
    except RuntimeError:
        return True
    except Exception:
        return False
    return False


def _share_of(cuda, number):
    peak = cuda.max_memory_reserved(number)
    return min(1.0, (peak + CONTEXT_BYTES) / cuda.get_device_properties(number).total_memory) if peak else 0.0


def _asked(question):
    try:
        cuda = sys.modules["torch"].cuda
        return question(cuda) if cuda.is_initialized() else None
    except Exception:  # also of a device that a kernel has put out of use
        return None
