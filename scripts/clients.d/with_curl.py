"""curl, as in docs/guides/clients.md: requests with a password, and requests with the token of a session."""
from page import run_block
from steps import expect

NAME = 'curl'
NEEDS_HTTPS = False


def run(lab):
    for machine in lab.machines:
        machine.reset_machine()
        console = lab.console(machine)
        suffix, env = lab.suffix(machine), lab.environment(machine)

        def boots(kind):
            machine.wait_for_power('On')
            console.expect_boot(kind)

        console.forget()
        run_block(lab.steps, NAME, 'curl', env, {
            'insert-the-image': lambda _: expect('Inserted', machine.drive()['Inserted'], True),
            'boot-from-it-once': lambda _: expect('the override', machine.boot, ('Once', 'Cd')),
            'switch-on': lambda _: boots('ISO'),
            'restart-from-the-disk': lambda _: boots('DISK'),
            'eject': lambda _: expect('Inserted', machine.drive()['Inserted'], False),
            'switch-off': lambda _: machine.wait_for_power('Off'),
        }, suffix)
    run_block(lab.steps, NAME, 'curl-session', lab.environment(lab.machines[0]), {})
