"""Tests gofish (Go): the program of docs/guides/clients.md, and a larger one with two versions of gofish."""
import subprocess
from pathlib import Path

from page import block
from steps import Unexpected

NAME = 'gofish'
# The program manages accounts, so it runs only if the service has HTTPS and a password.
NEEDS_HTTPS = True

SOURCE = Path(__file__).parent / 'gofish'
VERSIONS = {'0.19': ('-modfile=oldest.mod', '-tags=oldest'), '0.22': ()}
# Options of the program, by the end of a step's name: a login with a session, and Basic authentication.
LOGINS = {'': (), '-basic': ('--basic',)}


def go(folder, *arguments):
    done = subprocess.run(('go', *arguments), cwd=folder, capture_output=True, text=True, timeout=900)
    if done.returncode != 0:
        raise Unexpected(f'go {arguments[0]}: {done.stderr}')


def build(folder, source, *flags):
    """Compiles the program, and returns its path."""
    program = folder / 'program'
    go(source, 'build', '-buildvcs=false', *flags, '-o', program, '.')
    return program


def run(lab):
    for version, flags in VERSIONS.items():
        program = None
        with lab.steps.step(NAME, f'builds-{version}'):
            program = build(lab.new_folder(NAME), SOURCE, *flags)
        for machine in lab.machines if program else ():
            for login, options in LOGINS.items():
                run_program(lab, (program, *options), machine, f'[{version}{login}]' + lab.suffix(machine))
    with lab.steps.step(NAME, 'the-page'):
        folder = lab.new_folder(NAME)
        for name in ('go.mod', 'go.sum'):
            (folder / name).write_text((SOURCE / name).read_text())
        (folder / 'main.go').write_text(block('gofish'))
        program = build(folder, folder)
        for machine in lab.machines:
            machine.reset_machine()
            done = subprocess.run([program], env=lab.environment(machine), capture_output=True, text=True, timeout=600)
            if done.returncode != 0:
                raise Unexpected(done.stdout + done.stderr)
            machine.wait_for_power('On')
            machine.reset_machine()


def run_program(lab, command, machine, suffix):
    """Runs the program, and turns each line of its output into a step."""
    machine.reset_machine()
    done = subprocess.run(command, env=lab.environment(machine), capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    for line in lines:
        verdict, _, rest = line.partition(' ')
        name, _, why = rest.partition(': ')
        if verdict == 'FAIL':
            lab.steps.failure(NAME, name + suffix, why)
            continue
        with lab.steps.step(NAME, name + suffix):
            if verdict != 'PASS':
                raise Unexpected(line)
    # 1 is the program's own exit status after a failed step.
    if done.returncode != (1 if any(line.startswith('FAIL ') for line in lines) else 0):
        lab.steps.failure(NAME, 'outside-the-steps' + suffix, f'exit status {done.returncode}: {done.stderr}')
