"""Whether a process's memory stays flat while work streams through it."""

import threading
import time

from . import machine

# The second half may need this much more than the first: allocators settle, and caches are bounded.
GROWTH_MEGABYTES_MAX = 10


class Watch:
    """Looks at a process ten times a second, until it ends or `end` is called."""

    def __init__(self, pid):
        self.pid, self.samples, self.is_over = pid, [machine.resident_megabytes(pid)], False
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.is_over:
            time.sleep(0.1)
            try:
                self.samples.append(machine.resident_megabytes(self.pid))
            except (OSError, IndexError):
                return

    def end(self):
        self.is_over = True
        self.thread.join()

    @property
    def halves(self):
        """The most that was resident in the first half of the time, and in the second. A process that has ended holds nothing."""
        held = [sample for sample in self.samples if sample > 0] or [0.0]
        half = (len(held) + 1) // 2
        return max(held[:half]), max(held[half:] or held)

    @property
    def growth(self):
        first, second = self.halves
        return max(0.0, second - first)

    def text(self):
        first, second = self.halves
        return f"at most {first:.0f} MB resident in the first half, {second:.0f} in the second"
