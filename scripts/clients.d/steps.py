"""The steps of clients and their results: one line each, and a count at the end."""
import re
import sys
import time
from contextlib import contextmanager


class Unexpected(Exception):
    """An unexpected result of a step."""


def expect(what, found, wanted):
    """Raises Unexpected if `found` is not `wanted`. `what` names the value in the text."""
    if found != wanted:
        raise Unexpected(f'{what} is {found!r}, not {wanted!r}')


def expect_in(what, found, wanted):
    if wanted not in found:
        raise Unexpected(f'{what} has no {wanted!r}: {found!r}')


def wait_for(what, probe, wanted, seconds=120):
    """Polls until `probe()` is `wanted` (a value, or a predicate). Returns the last value. Raises Unexpected after `seconds`."""
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
    """Runs and counts the steps of all clients.

    @param reason_of returns why the service does not offer a step (`client.name`); None if it does.
    @param should_try returns whether to try a step that the service may not offer.
    @param fails_unexpected_passes whether a step that passes counts as failed if `reason_of` returns a reason for it.
    """

    def __init__(
        self,
        secrets=(),
        output=sys.stdout,
        reason_of=lambda step: None,
        should_try=lambda step: True,
        fails_unexpected_passes=False,
    ):
        self.counts = {}  # client: [passed, failed, not run]
        self.seconds = {}
        self.failed = []
        self._secrets = [secret for secret in secrets if secret]
        self._output = output
        self._reason_of = reason_of
        self._should_try = should_try
        self._fails_unexpected_passes = fails_unexpected_passes

    def _report(self, verdict, client, name, why=''):
        not_offered = self._reason_of(f'{client}.{name.partition("[")[0]}')
        if not_offered and verdict == 'FAIL':
            verdict, why = 'SKIP', not_offered
        elif not_offered and verdict == 'PASS' and self._fails_unexpected_passes:
            # The entry in the list would hide a later failure of this step.
            verdict, why = 'FAIL', f'passes, although the list of missing functions says: {not_offered}'
        # One line for any error, without passwords.
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
        """A step is the body of a `with` statement. It passes if it raises nothing. After a failed step, the next steps run."""
        try:
            yield
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:  # A client's library may raise any exception.
            self._report('FAIL', client, name, f'{type(error).__name__}: {error}' if not isinstance(error, Unexpected) else error)
        else:
            self._report('PASS', client, name)

    def run(self, client, name, work):
        """Runs `work()` as a step if `should_try` allows it. Otherwise records the step as not run."""
        step = f'{client}.{name.partition("[")[0]}'
        if not self._should_try(step):
            self.skip(client, name, self._reason_of(step))
            return
        with self.step(client, name):
            work()

    def failure(self, client, name, why):
        """Records a failed step that did not run in `step`."""
        self._report('FAIL', client, name, why)

    def skip(self, client, name, why):
        self._report('SKIP', client, name, why)

    @contextmanager
    def client(self, name):
        """Measures the time of a client. A fault outside its steps counts as one failed step."""
        before = time.monotonic()
        try:
            fault = None
            yield
        except KeyboardInterrupt:
            raise
        except (Exception, SystemExit) as error:
            fault = error
        if fault is not None:
            self._report('FAIL', name, 'outside-the-steps', f'{type(fault).__name__}: {fault}')
        self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - before

    def summary(self):
        """Prints the counts. Returns whether no step failed and at least one passed."""
        print()
        for client, (passed, failed, skipped) in self.counts.items():
            took = self.seconds.get(client)
            print(f'{client}: {passed} of {passed + failed} steps pass'
                  + (f', {skipped} not run' if skipped else '') + (f' ({took:.0f} s)' if took else ''))
        passed = sum(count[0] for count in self.counts.values())
        failed = sum(count[1] for count in self.counts.values())
        print(f'{passed} of {passed + failed} steps pass' + (f'; failed: {" ".join(self.failed)}' if failed else ''))
        return failed == 0 and passed > 0
