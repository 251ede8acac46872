"""Files that a candidate leaves in the current directory: a reproducer leaves none, but the search may pass through some that do.

Only where no text to start from does without (a log file, a checkpoint), and only until one that fails the same way does.
"""

from __future__ import annotations


class LeftFiles:
    """What is known of them in one reduction. Each candidate runs in a directory of its own: nothing of the person's is there."""

    def __init__(self) -> None:
        self.tolerated = False
        self.refused = ""  # a file that a candidate was refused for
        self._by_text: dict[str, str] = {}

    def tolerate(self) -> None:
        """From now on a candidate may leave files."""
        self.tolerated = True

    def flaw(self, left: tuple[str, ...]) -> str:
        """Why a candidate that left these files is none; empty where it may be one."""
        if not left or self.tolerated:
            return ""
        self.refused = left[0]
        return f"it leaves {left[0]} in the current directory"

    def accept(self, text: str, left: tuple[str, ...]) -> None:
        """A text that fails the same way. Where it leaves nothing, no later one may leave any."""
        if left:
            self._by_text[text] = left[0]
        else:
            self.tolerated = False

    def of(self, text: str) -> str:
        """A file that this candidate leaves; empty where it leaves none."""
        return self._by_text.get(text, "")
