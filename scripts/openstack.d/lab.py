"""The commands of scripts/openstack-lab, after the packages are unpacked. Arguments: see main()."""
import argparse
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import time
from string import Template

import contents
from processes import CONFIGURATIONS, Failure, Processes
from services import SERVICES

HERE = pathlib.Path(__file__).parent
COMPUTE_DRIVERS = {'fake': 'rackless_lab_servers.FakeDriver', 'libvirt': 'libvirt.LibvirtDriver'}


class Lab(Processes):
    """
    A lab in one folder: `etc`, `log` and `run` of its services, their databases in `db`, and the data
    of servers, images and volumes.
    """

    def __init__(self, options):
        self.options = options
        self.dir = options.dir.resolve()
        self.root = options.root.resolve()
        self.ports = {service: options.port + index for index, service in enumerate(SERVICES)}
        self.bridge = f'lab{options.port}'
        self.began = time.monotonic()

    def say(self, text):
        print(f'[{time.monotonic() - self.began:6.1f} s] {text}', file=sys.stderr, flush=True)

    def url(self, service):
        return f'http://127.0.0.1:{self.ports[service]}'

    def up(self):
        for name in ('conversion', 'etc', 'images', 'instances', 'lock', 'log', 'run', 'staging', 'volumes'):
            (self.dir / name).mkdir(parents=True, exist_ok=True)
        # QEMU may run as another account.
        for folder in (self.dir, self.dir / 'instances', self.dir / 'volumes'):
            folder.chmod(0o755)
        if any(self.process_of(service) is None for service in SERVICES):
            self.down()
            try:
                self.up_from_nothing()
            except BaseException:
                self.down()
                raise
        print(self.dir / 'clouds.yaml')

    def up_from_nothing(self):
        for name in ('conversion', 'images', 'instances', 'staging', 'volumes'):
            (self.dir / name).mkdir(exist_ok=True)
        if self.options.virt == 'libvirt':
            self.check_libvirt()
        password = self.create_databases()
        if self.options.virt == 'libvirt':
            run('ip', 'link', 'add', self.bridge, 'type', 'bridge')
            run('ip', 'link', 'set', self.bridge, 'up')
            (self.dir / 'run' / 'bridge').write_text(self.bridge)
        for name in ('catalog.ready', 'nova.ready'):
            (self.dir / 'run' / name).unlink(missing_ok=True)
        for service in SERVICES:
            self.start(service)
        contents.create(self, password)
        self.say(f'ready: export OS_CLIENT_CONFIG_FILE={self.dir}/clouds.yaml OS_CLOUD=lab')

    def check_libvirt(self):
        uri = self.options.libvirt_uri
        try:
            done = subprocess.run(['virsh', '--connect', uri, 'version'], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            raise Failure(f'libvirt at {uri} does not answer: see --libvirt-uri') from None
        if done.returncode != 0:
            raise Failure(f'libvirt at {uri}: start libvirtd, or see --libvirt-uri. {done.stderr.strip()}')

    def configure(self, password):
        values = {
            **{kind: self.url(service) for service, kind in SERVICES.items()},
            'dir': self.dir,
            'root': self.root,
            'port': self.options.port,
            'console_port': self.options.port + len(SERVICES),
            'serial_port': self.options.port + len(SERVICES) + 1,
            'guest_ports': self.guest_ports(),
            'libvirt_uri': self.options.libvirt_uri,
            'compute_driver': COMPUTE_DRIVERS[self.options.virt],
            'token_seconds': self.options.token_seconds,
            'shutdown_seconds': self.options.shutdown_seconds,
            'sync_seconds': self.options.sync_seconds,
            'serial_consoles': self.options.serial_consoles,
        }
        credentials = Template((HERE / 'etc' / 'credentials').read_text())
        values['credentials'] = credentials.substitute(values, password=password)
        for name in CONFIGURATIONS.values():
            text = Template((HERE / 'etc' / name).read_text()).substitute(values)
            path = self.dir / 'etc' / name
            path.touch(mode=0o600)
            path.write_text(text)
        # Glance reads this file only from the folder of its configuration.
        shutil.copy(self.root / 'usr/share/glance-common/glance-api-paste.ini', self.dir / 'etc')

    def guest_ports(self):
        """
        @returns the range of the guests' serial ports. Nova uses the first free port of this range. Labs with different
        values of --port mostly have different ranges, so two labs at the same time rarely choose the same port.
        """
        first = 10000 + self.options.port * 7 % 9000
        return f'{first}:{first + 1000}'

    def create_databases(self):
        """
        Creates the configuration and the databases, and returns the password of all accounts. Creating databases
        takes most of the first start, so later labs copy them.
        """
        template, databases = self.root / 'databases', self.dir / 'db'
        if template.exists():
            shutil.copytree(template, databases)
            password = (databases / 'password').read_text()
            self.configure(password)
            return password
        databases.mkdir()
        # Hexadecimal digits, because keystone-manage treats a password with a leading hyphen as an option.
        password = secrets.token_hex(12)
        (databases / 'password').touch(mode=0o600)
        (databases / 'password').write_text(password)
        self.configure(password)
        started = {
            service: self.spawn(f'database-{service}', HERE / 'databases.py', service, self.dir / 'etc' / name)
            for service, name in CONFIGURATIONS.items()
        }
        for service, process in started.items():
            if process.wait() != 0:
                raise Failure(f'creating the database of {service}: {self.output_of(f"database-{service}")}')
        self.keystone_manage('fernet_setup', '--keystone-user', 'root', '--keystone-group', 'root')
        self.keystone_manage('credential_setup', '--keystone-user', 'root', '--keystone-group', 'root')
        self.keystone_manage('bootstrap', '--bootstrap-password', password)
        unfinished = self.root / f'databases.{os.getpid()}'
        shutil.copytree(databases, unfinished)
        try:
            unfinished.rename(template)
        except OSError:  # Another lab was faster.
            shutil.rmtree(unfinished)
        self.say('databases created')
        return password

    def keystone_manage(self, command, *arguments):
        name = f'keystone-{command}'
        program = 'import sys; from keystone.cmd import manage; sys.argv[0] = "keystone-manage"; manage.main()'
        configuration = self.dir / 'etc' / 'keystone.conf'
        if self.spawn(name, '-c', program, '--config-file', configuration, command, *arguments).wait() != 0:
            raise Failure(f'keystone-manage {command}: {self.output_of(name)}')

    def down(self):
        for service in reversed(SERVICES):
            self.stop(service)
        if self.options.virt == 'libvirt':
            self.remove_guests()
        bridge = self.dir / 'run' / 'bridge'
        if bridge.exists():
            # `run/bridge` contains the name, because the options of `down` may lack the port of `up`.
            run('ip', 'link', 'del', bridge.read_text(), check=False)
            bridge.unlink()
        for name in ('conversion', 'db', 'images', 'instances', 'staging', 'volumes'):
            shutil.rmtree(self.dir / name, ignore_errors=True)

    def remove_guests(self):
        """Removes each guest whose name contains --port of this command, if its definition names the lab's folder."""
        virsh = ['virsh', '--quiet', '--connect', self.options.libvirt_uri]
        names = run(*virsh, 'list', '--all', '--name', check=False).split()
        for name in names:
            if not name.startswith(f'rackless-lab{self.options.port}-'):
                continue
            if f"'{self.dir}/" not in run(*virsh, 'dumpxml', name, check=False):
                continue
            run(*virsh, 'destroy', name, check=False)
            run(*virsh, 'undefine', '--nvram', name, check=False)

    def env(self):
        """Prints shell commands that let the command `openstack` use the lab."""
        print(f'export OS_CLIENT_CONFIG_FILE={self.dir}/clouds.yaml OS_CLOUD=lab')
        print(f'export PYTHONPATH={self.root}/usr/lib/python3/dist-packages PATH={self.root}/usr/bin:$PATH')

    def status(self):
        for service in SERVICES:
            pid = self.process_of(service)
            print(f'{service:10}', 'down' if pid is None else f'pid {pid}, {self.url(service)}')


def run(*command, check=True):
    """Runs a command and returns its output. Raises Failure if the command fails, unless `check` is False."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise Failure(f'{" ".join(command)}: {done.stderr.strip()}')
    return done.stdout


def main():
    parser = argparse.ArgumentParser(prog='scripts/openstack-lab')
    parser.add_argument('command', choices=['up', 'down', 'status', 'env'])
    parser.add_argument('--root', type=pathlib.Path, required=True)
    parser.add_argument('--dir', type=pathlib.Path, required=True)
    # The default ports are below the range that Linux uses for outgoing connections. A port of this range may be in use.
    parser.add_argument('--port', type=int, default=21500)
    parser.add_argument('--virt', choices=['libvirt', 'fake'], default='libvirt')
    parser.add_argument('--libvirt-uri', default='qemu:///system')
    parser.add_argument('--servers', type=int, default=2)
    parser.add_argument('--copies', type=int, default=0)
    parser.add_argument('--token-seconds', type=int, default=3600)
    parser.add_argument('--shutdown-seconds', type=int, default=5)
    parser.add_argument('--sync-seconds', type=int, default=600)
    parser.add_argument('--serial-consoles', action='store_true')
    options = parser.parse_args()
    if options.copies > 0 and (options.virt != 'fake' or options.servers < 2):
        parser.error('--copies needs --virt fake, and --servers 2 or more')
    try:
        getattr(Lab(options), options.command)()
    except Failure as failure:
        raise SystemExit(f'scripts/openstack-lab: {failure}') from failure


main()
