"""Runs the clients against a BMC, and prints a line per step. scripts/clients prepares the arguments."""
import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from bmc import Bmc, Machine
import nova
from console import Console
from images import ImageServer, address_towards
from page import environment
from steps import Steps

# All clients, in the default order: fast clients first, so that general faults appear early.
CLIENTS = ('curl', 'sushy', 'redfishtool', 'gofish', 'fence_redfish', 'ilorest', 'ansible', 'ironic', 'lab')


class Lab:
    """The environment of the clients: a BMC, machines that the clients may change, images, a folder."""

    def __init__(self, arguments, bmc, machines, images, steps, folder):
        self.bmc, self.machines, self.images, self.steps, self.folder = bmc, machines, images, steps, folder
        self.quick = arguments.quick
        self.image_url = arguments.image or f'{images.url}/boot.iso'
        # An image whose download takes 25 s.
        self.slow_image_url = f'{images.url}/slow-25/boot.iso'
        self.other_image_url = f'{images.url}/other.iso'
        self._consoles = {machine.id: Console(arguments.consoles and Path(arguments.consoles) / f'{machine.name}.log') for machine in machines}

    def console(self, machine):
        return self._consoles[machine.id]

    def suffix(self, machine):
        """Returns the end of the names of steps for this machine. It is empty if there is only one machine."""
        return f'[{machine.name}]' if len(self.machines) > 1 else ''

    def new_folder(self, name):
        return Path(tempfile.mkdtemp(prefix=name + '-', dir=self.folder))

    def was_sent(self, url):
        """Returns whether the image server has sent this file completely."""
        return urlsplit(url).path in self.images.sent_whole

    def environment(self, machine, **more):
        """Returns the variables of docs/guides/clients.md."""
        address = urlsplit(self.bmc.url)
        return environment(
            BMC=self.bmc.url, BMC_NAME=address.hostname, BMC_PORT=str(address.port or (443 if self.bmc.is_https else 80)),
            BMC_USER=self.bmc.user or 'nobody', BMC_PASSWORD=self.bmc.password or 'none', SYSTEM_ID=machine.id, SYSTEM=machine.path,
            MANAGER=machine.manager, DRIVES=machine.drives or '', IMAGE=self.image_url, **more)


def choose_machines(bmc, wanted):
    paths = bmc.members('/redfish/v1/Systems')
    if wanted:
        paths = [f'/redfish/v1/Systems/{name}' for name in wanted]
    elif len(paths) > 2:
        sys.exit(f'{bmc.url} has {len(paths)} machines. The clients switch them off and on: select machines with --system ID')
    return [Machine(bmc, path) for path in paths]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('url')
    parser.add_argument('--user')
    parser.add_argument('--password-file')
    parser.add_argument('--system', action='append', default=[])
    parser.add_argument('--clients', default=','.join(CLIENTS))
    parser.add_argument('--images', required=True, help='folder with boot.iso and other.iso')
    parser.add_argument('--image')
    parser.add_argument('--consoles')
    parser.add_argument('--backend', choices=('nova', 'sushy-tools'), help='report SKIP, not FAIL, for steps that Nova does not offer')
    parser.add_argument('--quick', action='store_true')
    parser.add_argument('--folder', required=True)
    arguments = parser.parse_args()

    password = Path(arguments.password_file).read_text().rstrip('\n') if arguments.password_file else None
    bmc = Bmc(arguments.url, arguments.user, password)
    machines = choose_machines(bmc, arguments.system)
    address = urlsplit(bmc.url)
    images = ImageServer(arguments.images, address_towards(address.hostname, address.port or 443))
    backend = {'reason_of': nova.reason_of, 'should_try': nova.should_try} if arguments.backend else {}
    # Some steps of nova.NOT_OFFERED pass with sushy-tools, for example those of the indicator.
    steps = Steps(secrets=[password], fails_unexpected_passes=arguments.backend == 'nova', **backend)
    lab = Lab(arguments, bmc, machines, images, steps, Path(arguments.folder))
    for name in arguments.clients.split(','):
        if name not in CLIENTS:
            sys.exit(f'no client {name}; there are: {" ".join(CLIENTS)}')
    try:
        for name in arguments.clients.split(','):
            client = importlib.import_module(f'with_{name}')
            if client.NEEDS_HTTPS and not (bmc.is_https and bmc.user):
                steps.skip(name, 'all', 'needs HTTPS and a password')
                continue
            with steps.client(name):
                client.run(lab)
        passed = steps.summary()
        for machine in machines:
            machine.reset_machine()
    finally:
        images.close()
    sys.exit(0 if passed else 1)


if __name__ == '__main__':
    main()
