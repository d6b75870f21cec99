"""Reads the serial line of a machine of scripts/clients (see scripts/guests/build-guest)."""
import re
from pathlib import Path

from steps import Unexpected, wait_for


class Console:
    """@param file with the output of the line; None disables all checks."""

    def __init__(self, file):
        self._file = Path(file) if file else None
        self._seen = 0

    @property
    def is_readable(self):
        return self._file is not None

    def _text(self):
        return self._file.read_bytes().decode(errors='replace') if self._file.exists() else ''

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
