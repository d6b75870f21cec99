"""Ansible's redfish modules: the playbook of docs/guides/clients.md, and one with most other functions."""
import json
import subprocess
from pathlib import Path

from page import block
from steps import Unexpected, expect, wait_for

NAME = 'ansible'
NEEDS_HTTPS = True


# Virtual machines have no fans and no power supplies. The module then returns no entries, or a message of its own.
NONE_IN_A_MACHINE = ('fan', 'psu')


def check_facts(facts):
    """Checks the results of redfish_info, which reports failed reads only inside its facts."""
    for what, found in facts.items():
        if what in NONE_IN_A_MACHINE and (found.get('ret') or 'objects found' in found.get('msg', '')):
            continue
        if found.get('ret') is not True:
            raise Unexpected(f'{what}: {found.get("msg", found)}')
        if what != 'session' and not found.get('entries'):
            raise Unexpected(f'{what}: nothing found')


def play(lab, machine, text, suffix, name, **more):
    """Runs a playbook, each task as a step. A failed task does not stop the next tasks."""
    folder = lab.new_folder('ansible')
    playbook = folder / 'playbook.yml'
    playbook.write_text(text.replace('  gather_facts: false\n', '  gather_facts: false\n  ignore_errors: true\n', 1))
    env = lab.environment(machine, ANSIBLE_STDOUT_CALLBACK='json', ANSIBLE_HOME=str(folder), ANSIBLE_LOCAL_TEMP=str(folder / 'tmp'),
                          ANSIBLE_LOCALHOST_WARNING='false', ANSIBLE_INVENTORY_UNPARSED_WARNING='false', **more)
    done = subprocess.run(['ansible-playbook', '-e', 'ansible_python_interpreter=/usr/bin/python3', str(playbook)], env=env, cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
    try:
        tasks = json.loads(done.stdout)['plays'][0]['tasks']
    except (ValueError, LookupError):
        raise Unexpected(f'{name}: {done.stdout[-500:]} {done.stderr[-1000:]}') from None
    for task in tasks:
        result = task['hosts']['localhost']
        if result.get('skipped'):
            continue
        with lab.steps.step(NAME, task['task']['name'].replace(' ', '-').replace(',', '') + suffix):
            if result.get('failed'):
                raise Unexpected(result.get('msg', result))
            check_facts(result.get('redfish_facts', {}))


def run(lab):
    for machine in lab.machines:
        machine.reset_machine()
        suffix, console = lab.suffix(machine), lab.console(machine)
        console.forget()
        play(lab, machine, block('ansible'), suffix, 'the playbook of docs/guides/clients.md')
        with lab.steps.step(NAME, 'and-the-machine-booted-the-image' + suffix):
            # The playbook switches the machine off at once, so only the end of the override shows the boot.
            expect('the override', machine.boot[0], 'Disabled')
            machine.wait_for_power('Off')
            expect('Inserted', machine.drive()['Inserted'], False)
        if lab.quick:
            continue
        machine.reset_machine()
        order = machine.body()['Boot'].get('BootOrder', ['none'])
        play(lab, machine, (Path(__file__).parent / 'ansible-all.yml').read_text(), suffix, 'ansible-all.yml',
             BOOT_ORDER=','.join(reversed(order)), IS_UEFI='yes' if machine.is_uefi else 'no')
        wait_for('the manager', lambda: machine.bmc.ask('GET', machine.manager)[0], 200)
        if machine.is_uefi:
            with lab.steps.step(NAME, 'secure-boot-is-on' + suffix):
                secure = machine.bmc.get(f'{machine.path}/SecureBoot')
                expect('SecureBootEnable', secure['SecureBootEnable'], True)
                machine.bmc.write('PATCH', f'{machine.path}/SecureBoot', {'SecureBootEnable': False})
