"""What all tests share."""

import signal

# A shell that starts the tests in the background has them ignore ctrl-C, and so would every process they start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
