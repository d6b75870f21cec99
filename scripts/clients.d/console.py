"""Reads the log of the serial console of a machine of scripts/clients (see scripts/guests/build-guest)."""
import re
import threading
import time
from pathlib import Path

from steps import Unexpected, wait_for

POLL_SECONDS = 0.05


class Console:
    """@param file the log of the serial console; None disables all checks."""

    def __init__(self, file):
        self._file = Path(file) if file else None
        self._output = bytearray()
        self._position = 0
        self._lock = threading.Lock()
        self._seen = 0
        if self._file:
            threading.Thread(target=self._follow, daemon=True).start()

    @property
    def is_readable(self):
        return self._file is not None

    def _follow(self):
        while True:
            self._text()
            time.sleep(POLL_SECONDS)

    def _text(self):
        """Returns all output so far, also what the file has lost: a hypervisor may truncate the file at each start."""
        with self._lock:
            if self._file.exists():
                with self._file.open('rb') as file:
                    size = file.seek(0, 2)
                    file.seek(self._position if self._position <= size else 0)
                    self._output += file.read()
                    self._position = file.tell()
            return self._output.decode(errors='replace')

    def forget(self):
        """Ignores the output so far."""
        if self.is_readable:
            self._seen = len(self._text())

    def expect_boot(self, kind, seconds=240):
        """Waits for the next boot, and expects it from `ISO` or `DISK`."""
        self.expect(rf'RACKLESS-(DISK|ISO) label', lambda said: said == kind, f'boot of the {kind}', seconds)

    def expect_media(self, label, seconds=120):
        """Waits until the running system reports this CD in its drive; None for an empty drive."""
        self.expect(rf'RACKLESS-MEDIA sr0 ({label or "empty"})\b', lambda _: True, f'CD {label} on the console', seconds)

    def expect(self, pattern, is_right, what, seconds):
        if not self.is_readable:
            return
        match = wait_for(f'the {what}', lambda: re.compile(pattern).search(self._text(), self._seen), lambda found: found is not None, seconds)
        self._seen = match.end()
        if not is_right(match[1]):
            raise Unexpected(f'the {what}: the console says {match[0]!r}')
