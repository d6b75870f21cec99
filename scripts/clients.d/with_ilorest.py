"""ilorest, as in docs/guides/clients.md."""
from page import run_block
from steps import expect, expect_in

NAME = 'ilorest'
NEEDS_HTTPS = True


def run(lab):
    for machine in lab.machines:
        machine.reset_machine()
        # ilorest stores sessions and cached resources in the home folder.
        home = lab.new_folder('ilorest')
        run_block(lab.steps, NAME, 'ilorest', {**lab.environment(machine), 'HOME': str(home)}, {
            'types': lambda said: expect_in('the types', said, 'ComputerSystem'),
            'get': lambda said: expect_in('what it got', said, 'PowerState=Off'),
            'list': lambda said: expect_in('what it listed', said, 'BootSourceOverrideTarget'),
            'rawget': lambda said: expect_in('what it got', said, machine.id),
            'rawpatch': lambda _: expect('the override', machine.boot, ('Once', 'Cd')),
            'rawpost': lambda _: machine.wait_for_power('On'),
            'get-a-BIOS-attribute': lambda said: expect_in('what it got', said, 'BootMode='),
            'save': lambda _: expect_in('what it saved', (home / 'saved.json').read_text(), 'ComputerSystem'),
        }, lab.suffix(machine), cwd=home)
