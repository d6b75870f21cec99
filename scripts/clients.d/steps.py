"""Steps of a client and what became of them: one line each, and a count at the end."""
import re
import sys
import time
from contextlib import contextmanager


class Unexpected(Exception):
    """Something else than what a step expects. Its text says what."""


def expect(what, found, wanted):
    if found != wanted:
        raise Unexpected(f'{what} is {found!r}, not {wanted!r}')


def expect_in(what, found, wanted):
    if wanted not in found:
        raise Unexpected(f'{what} has no {wanted!r}: {found!r}')


def wait_for(what, probe, wanted, seconds=120):
    """Asks until `probe()` is `wanted` (a value, or a predicate)."""
    is_it = wanted if callable(wanted) else lambda found: found == wanted
    deadline = time.monotonic() + seconds
    while True:
        found = probe()
        if is_it(found):
            return found
        if time.monotonic() > deadline:
            wish = '' if callable(wanted) else f', not {wanted!r}'
            raise Unexpected(f'{what} is {found!r} after {seconds} s{wish}')
        time.sleep(0.3)


class Steps:
    """Runs and counts the steps of all clients."""

    def __init__(self, secrets=(), output=sys.stdout):
        self.counts = {}  # client: [passed, failed, not run]
        self.seconds = {}
        self.failed = []
        self._secrets = [secret for secret in secrets if secret]
        self._output = output

    def _tell(self, verdict, client, name, why=''):
        # One line, whatever a client's error looks like, and none of its passwords.
        why = re.sub(r'\s+', ' ', str(why)).strip()
        for secret in self._secrets:
            why = why.replace(secret, '***')
        if len(why) > 600:
            why = why[:300] + ' … ' + why[-300:]
        print(f'{verdict} {client}.{name}' + (f': {why}' if why else ''), file=self._output, flush=True)
        if verdict == 'FAIL':
            self.failed.append(f'{client}.{name}')
        count = self.counts.setdefault(client, [0, 0, 0])
        count[('PASS', 'FAIL', 'SKIP').index(verdict)] += 1

    @contextmanager
    def step(self, client, name):
        """The body is the step: it passes where nothing is raised. The steps after a failed one are still run."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:  # A client's library may raise anything.
            self._tell('FAIL', client, name, f'{type(error).__name__}: {error}' if not isinstance(error, Unexpected) else error)
        else:
            self._tell('PASS', client, name)

    def failure(self, client, name, why):
        """A step that failed before it could be run."""
        self._tell('FAIL', client, name, why)

    def skip(self, client, name, why):
        self._tell('SKIP', client, name, why)

    @contextmanager
    def client(self, name):
        """Takes a client's time; a fault outside its steps is one failed step, not the end of the others."""
        before = time.monotonic()
        try:
            with_fault = None
            yield
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:
            with_fault = error
        if with_fault is not None:
            self._tell('FAIL', name, 'to-the-end', f'{type(with_fault).__name__}: {with_fault}')
        self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - before

    def summary(self):
        """@returns whether all is well; prints the counts."""
        print()
        for client, (passed, failed, skipped) in self.counts.items():
            took = self.seconds.get(client)
            print(f'{client}: {passed} of {passed + failed} steps pass'
                  + (f', {skipped} not run' if skipped else '') + (f' ({took:.0f} s)' if took else ''))
        passed = sum(count[0] for count in self.counts.values())
        failed = sum(count[1] for count in self.counts.values())
        print(f'{passed} of {passed + failed} steps pass' + (f'; failed: {" ".join(self.failed)}' if failed else ''))
        return failed == 0 and passed > 0
