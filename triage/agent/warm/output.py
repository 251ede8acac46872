"""A candidate's output, kept with a bound: the first part goes to the file at once, the last part at the end."""

import os

HEAD_BYTES = 512 * 1024
TAIL_BYTES = 512 * 1024
READ_BYTES = 1 << 20
F_SETPIPE_SZ = 1031  # linux/fcntl.h; a larger pipe means fewer wake-ups for a candidate that prints a lot


class BoundedStream:
    """Reads one pipe without blocking. A process that still holds the other end at the end does not keep us."""

    def __init__(self, descriptor, path):
        self.descriptor = descriptor
        self.written = self.dropped = 0
        self.tail = bytearray()
        os.set_blocking(descriptor, False)
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            import fcntl

            fcntl.fcntl(descriptor, F_SETPIPE_SZ, READ_BYTES)
        except (ImportError, OSError):
            return

    def read_some(self):
        """Take what is there. Returns whether there may be more."""
        if self.descriptor is None:
            return False
        try:
            data = os.read(self.descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        self.keep(data)
        return True

    def keep(self, data):
        """Head to the file, the rest to the tail."""
        if self.written < HEAD_BYTES:
            head = data[: HEAD_BYTES - self.written]
            self.put(head)
            self.written += len(head)
            data = data[len(head) :]
        self.tail += data
        if len(self.tail) > 2 * TAIL_BYTES:
            self.trim()

    def trim(self):
        """Forget all but the last TAIL_BYTES."""
        surplus = max(0, len(self.tail) - TAIL_BYTES)
        self.dropped += surplus
        del self.tail[:surplus]

    def put(self, data):
        """Write, or drop where the disk is full."""
        try:
            while data:
                data = data[os.write(self.file, data) :]
        except OSError:
            self.dropped += len(data)

    def finish(self):
        """Read what is left, write the tail, close everything."""
        for _ in range(64):
            if not self.read_some():
                break
        self.close()
        self.trim()
        if self.dropped:
            self.put(b"\n... %d bytes left out ...\n" % self.dropped)
        self.put(bytes(self.tail))
        os.close(self.file)

    def close(self):
        """Close the pipe."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
