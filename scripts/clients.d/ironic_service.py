"""Runs Debian's ironic-api and ironic-conductor with the configuration of docs/guides/clients.md."""
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

from page import block, environment
from steps import Unexpected, wait_for

# The programs of Debian's packages ironic-api and ironic-conductor. Only python3-ironic, their library, is
# installed: the two packages would also start the programs as services of the host.
PROGRAMS = {'ironic-dbsync': 'dbsync', 'ironic-conductor': 'conductor', 'ironic-api': 'api'}

# The addresses and folders of the page are examples. These settings replace them with those of this run, and
# set the times of Ironic for tests.
OWN_SETTINGS = '''
[DEFAULT]
state_path = {folder}
[api]
host_ip = 127.0.0.1
port = {api_port}
api_workers = 1
[service_catalog]
endpoint_override = http://127.0.0.1:{api_port}
[json_rpc]
port = {rpc_port}
[database]
connection = sqlite:///{folder}/ironic.sqlite
[conductor]
sync_power_state_interval = 10
power_state_change_timeout = 120
soft_power_off_timeout = 120
# Other clients may also switch machines.
force_power_state_during_sync = false
[deploy]
http_root = {images.folder}
http_url = {images.url}
'''


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Ironic:
    def __init__(self, folder, images, python_path, port=None):
        self.folder = folder
        self._processes = []
        self.url = f'http://127.0.0.1:{port or free_port()}'
        self._configuration = ['--config-file', str(folder / 'ironic.conf'), '--config-file', str(folder / 'own.conf')]
        self._environment = environment(PYTHONPATH=str(python_path), PYTHONWARNINGS='ignore')
        (folder / 'ironic.conf').write_text(block('ironic.conf'))
        (folder / 'own.conf').write_text(
            OWN_SETTINGS.format(folder=folder, api_port=self.url.rsplit(':', 1)[1], rpc_port=free_port(), images=images))

    def _start(self, program):
        module = PROGRAMS[program]
        # The program ends when this process ends, also if this process is killed.
        return subprocess.Popen(
            ['setpriv', '--pdeathsig', 'TERM', '/usr/bin/python3', '-c', f'import sys\nfrom ironic.cmd.{module} import main\n'
             f'sys.argv[0] = "{program}"\nsys.exit(main())', *self._configuration, *(['create_schema'] if module == 'dbsync' else [])],
            stdin=subprocess.DEVNULL, stdout=(self.folder / f'{program}.log').open('ab'), stderr=subprocess.STDOUT, env=self._environment,
            cwd=self.folder)

    def start(self):
        if self._start('ironic-dbsync').wait(300) != 0:
            raise Unexpected(f'ironic-dbsync: {self.log("ironic-dbsync")}')
        for program in ('ironic-conductor', 'ironic-api'):
            self._processes.append((program, self._start(program)))

        def drivers():
            for program, process in self._processes:
                if process.poll() is not None:
                    raise Unexpected(f'{program} ended: {self.log(program)}')
            try:
                return [driver['name'] for driver in self.get('/v1/drivers')['drivers']]
            except (OSError, Unexpected):
                return []

        wait_for("Ironic's drivers", drivers, ['redfish'], 180)

    def log(self, program):
        return (self.folder / f'{program}.log').read_text(errors='replace')[-1500:]

    def stop(self):
        for _, process in self._processes:
            process.terminate()
        for _, process in self._processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.82'})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        for _ in range(30):
            try:
                with opener.open(request, timeout=300) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                text = error.read().decode(errors='replace')
                # The conductor is working on the node. Retries, as Ironic's own clients do.
                if error.code == 409 and 'is locked' in text:
                    time.sleep(1)
                    continue
                raise Unexpected(f'Ironic answers {error.code} to {method} {path}: {text[-600:]}') from None
        raise Unexpected(f'the node is locked: {method} {path}')

    def get(self, path):
        return self.ask('GET', path)


class Node:
    """A node of Ironic, by name."""

    def __init__(self, ironic, name):
        self.ironic, self.name, self.path = ironic, name, f'/v1/nodes/{name}'

    def create(self, driver_info, **more):
        self.ironic.ask('POST', '/v1/nodes', {'name': self.name, 'driver': 'redfish', 'driver_info': driver_info, **more})

    def read(self):
        return self.ironic.get(self.path)

    def ask(self, method, rest, body=None):
        return self.ironic.ask(method, self.path + rest, body)

    def patch(self, path, value):
        self.ironic.ask('PATCH', self.path, [{'op': 'add', 'path': path, 'value': value}])

    def provision(self, target, wanted, seconds=300, **more):
        """Requests a change of state and waits for its end."""
        self.ask('PUT', '/states/provision', {'target': target, **more})
        self.wait_for_state(wanted, seconds)

    def wait_for_state(self, wanted, seconds=300):
        def settled():
            node = self.read()
            state = node['provision_state']
            # After a failure, the target is still the requested state.
            is_over = node['target_provision_state'] is None or state == wanted or state.endswith((' failed', 'error'))
            return state if is_over else None

        found = wait_for(f'the state of node {self.name}', settled, lambda state: state is not None, seconds)
        if found != wanted:
            raise Unexpected(f'node {self.name} is {found}, not {wanted}: {self.read()["last_error"]}')

    def wait_for_power(self, wanted, seconds=180):
        def settled():
            node = self.read()
            if node['target_power_state'] is None and node['last_error']:
                raise Unexpected(node['last_error'])
            return node['target_power_state'] is None and node['power_state']

        wait_for(f"node {self.name}'s power", settled, wanted, seconds)

    def delete(self):
        self.patch('/maintenance', True)
        self.ironic.ask('DELETE', self.path)
