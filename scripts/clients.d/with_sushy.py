"""sushy, OpenStack's library: the session of docs/guides/clients.md, then functions of the library, by area."""
import logging
import sys

from page import block, run as run_command
from steps import expect
from sushy_steps.inventory import Inventory
from sushy_steps.power import Power
from sushy_steps.service import Service
from sushy_steps.settings import Settings
from sushy_steps.system import import_sushy

NAME = 'sushy'
NEEDS_HTTPS = False


class Session(Inventory, Settings, Power):
    """All steps of a system. They run in the order of the base classes, and then in the order of the source."""


def steps_of(kind, is_uefi, is_quick):
    """Returns the names of the methods step_… that suit the firmware and a quick run, in the order of the source."""
    steps = [(name, step) for name, step in vars(kind).items() if name.startswith('step_')]
    return [name for name, step in steps if (is_uefi or not hasattr(step, 'uefi_only')) and not (is_quick and hasattr(step, 'slow'))]


def run_steps(lab, session, kind, is_uefi, suffix):
    for name in steps_of(kind, is_uefi, lab.quick):
        lab.steps.run(NAME, name.removeprefix('step_').replace('_', '-') + suffix, getattr(session, name))


def run(lab):
    sushy, python_path = import_sushy(lab.folder)
    import urllib3
    urllib3.disable_warnings()
    # Disables the log, because sushy logs each failure, and the step reports it anyway.
    logging.disable()
    for machine in lab.machines:
        machine.reset_machine()
        with lab.steps.step(NAME, 'snippet' + lab.suffix(machine)):
            # Runs the block of the page unchanged.
            lab.console(machine).forget()
            said = run_command(f"{sys.executable} -W ignore - <<'END'\n{block('sushy')}END",
                               lab.environment(machine, PYTHONPATH=str(python_path)))
            expect('the output', said.strip(), f'{machine.name} On')
            lab.console(machine).expect_boot('ISO')
        machine.reset_machine()
        session = Session(lab, sushy, machine)
        for part in Session.__bases__:
            run_steps(lab, session, part, machine.is_uefi, lab.suffix(machine))
        machine.reset_machine()
    run_steps(lab, Service(lab, sushy, lab.machines[0]), Service, True, '')
