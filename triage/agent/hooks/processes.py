"""Processes that the program starts by `multiprocessing`: that module itself prints what ends one, and no excepthook is told.

What the one that waits for them raises then is only its word on that (`RuntimeError: 2 workers failed`).
"""

import functools


def patch(module, recorder):
    """Watch `multiprocessing.process`: an exception that leaves `run` ends its process."""
    bootstrap = module.BaseProcess._bootstrap

    @functools.wraps(bootstrap)
    def starting(self, *args, **kwargs):
        run = self.run  # a subclass has its own

        def running():
            try:
                return run()
            except Exception as error:
                recorder.raised(error, "uncaught")
                raise

        self.run = running
        return bootstrap(self, *args, **kwargs)

    module.BaseProcess._bootstrap = starting
