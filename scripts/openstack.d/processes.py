"""The processes of the lab: starts and ends services, and waits for them."""
import os
import pathlib
import signal
import socket
import subprocess
import time

from services import SERVICES

HERE = pathlib.Path(__file__).parent
CONFIGURATIONS = {service: f'{service}-api.conf' if service == 'glance' else f'{service}.conf' for service in SERVICES}
# On a busy host, services need minutes to start.
DEADLINE_SECONDS = 900


class Failure(Exception):
    """An error that ends the command. The text is for the user."""


class Processes:
    """Mixin that runs the services of a lab. The subclass sets `dir`, `root`, `ports` and `bridge`."""

    def environment(self):
        inherited = {name: value for name, value in os.environ.items() if name in ('HOME', 'LANG', 'TMPDIR', 'TERM')}
        configurations = self.dir / 'etc'
        return {
            **inherited,
            'PATH': f'{self.root}/usr/bin:/usr/sbin:/usr/bin:/sbin:/bin',
            'PYTHONPATH': f'{HERE}:{HERE}/plugins:{self.root}/usr/lib/python3/dist-packages',
            'PYTHONPYCACHEPREFIX': f'{self.root}/pycache',
            'PYTHONWARNINGS': 'ignore',
            # If Python crashes, it prints the stack of each thread.
            'PYTHONFAULTHANDLER': '1',
            'OS_KEYSTONE_CONFIG_DIR': f'{configurations}',
            'OS_PLACEMENT_CONFIG_DIR': f'{configurations}',
            'OS_GLANCE_CONFIG_DIR': f'{configurations}',
            'OS_NEUTRON_CONFIG_FILES': f'{configurations}/neutron.conf',
            'RACKLESS_LAB_BRIDGE': self.bridge,
        }

    def spawn(self, name, *arguments):
        """Starts a Python program with its output in log/NAME.out."""
        with open(self.dir / 'log' / f'{name}.out', 'wb') as output:
            return subprocess.Popen(
                ['/usr/bin/python3', *map(str, arguments)],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output_of(self, name):
        """@returns the last lines of a program's output."""
        text = (self.dir / 'log' / f'{name}.out').read_text(errors='replace')
        return '\n'.join(text.splitlines()[-12:])

    def start(self, service):
        if self.process_of(service) is not None:
            return
        with socket.socket() as probe:
            if probe.connect_ex(('127.0.0.1', self.ports[service])) == 0:
                raise Failure(f'port {self.ports[service]} is in use: choose another --port')
        configuration = self.dir / 'etc' / CONFIGURATIONS[service]
        port = self.ports[service]
        if service == 'nova':
            process = self.spawn(service, HERE / 'nova_services.py', configuration, port, self.ports['placement'])
        elif service == 'cinder':
            process = self.spawn(service, HERE / 'cinder_services.py', configuration, port)
        else:
            process = self.spawn(service, HERE / 'serve.py', service, port)
        (self.dir / 'run' / f'{service}.pid').write_text(f'{process.pid} {started_at(process.pid)}')

    def process_of(self, service):
        """@returns the process id of a running service, otherwise None."""
        try:
            pid, start = (self.dir / 'run' / f'{service}.pid').read_text().split()
        except OSError:
            return None
        return int(pid) if started_at(pid) == start else None

    def stop(self, service):
        pid = self.process_of(service)
        for signal_number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 60)):
            if pid is None:
                break
            try:
                os.kill(pid, signal_number)
            except ProcessLookupError:
                break
            end = time.monotonic() + seconds
            while self.process_of(service) is not None and time.monotonic() < end:
                time.sleep(0.05)
            pid = self.process_of(service)
        (self.dir / 'run' / f'{service}.pid').unlink(missing_ok=True)

    def wait(self, what, ready, service):
        """Waits until `ready()` returns a value, and returns it.

        Raises Failure if the service's process ended, or if the deadline has passed.
        """
        end = time.monotonic() + DEADLINE_SECONDS
        while True:
            value = ready()
            if value:
                return value
            if self.process_of(service) is None:
                raise Failure(f'{service} ended; see {self.dir}/log/{service}.log. Its output:\n{self.output_of(service)}')
            if time.monotonic() > end:
                raise Failure(f'{what}: not within {DEADLINE_SECONDS} s; see {self.dir}/log')
            time.sleep(0.1)


def started_at(pid):
    """@returns the start time of a process, which distinguishes it from a later process with the same id; None if the process has ended."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return None
    state, *rest = stat.rpartition(')')[2].split()
    return None if state == 'Z' else rest[18]
