"""fence_redfish, as in docs/guides/clients.md."""
from page import commands, run as run_command, run_block
from steps import Unexpected, expect_in

NAME = 'fence_redfish'
NEEDS_HTTPS = True


def run(lab):
    for machine in lab.machines:
        machine.reset_machine()
        console = lab.console(machine)
        console.forget()
        env = lab.environment(machine)
        run_block(lab.steps, NAME, 'fence_redfish', env, {
            'on': lambda _: (machine.wait_for_power('On'), console.expect_boot('DISK')),
            'status': lambda said: expect_in('the status', said, 'ON'),
            'reboot': lambda _: (machine.wait_for_power('On'), console.expect_boot('DISK')),
            'off': lambda _: machine.wait_for_power('Off'),
            'metadata': lambda said: expect_in('the metadata', said, 'fence_redfish'),
        }, lab.suffix(machine))
        preamble, _ = commands('fence_redfish')
        with lab.steps.step(NAME, 'status-of-a-machine-that-is-off' + lab.suffix(machine)):
            # The agent's exit status for "off" is 2.
            said = run_command(preamble + 'fence --systems-uri=$SYSTEM --action=status || test $? = 2', env)
            expect_in('the status', said, 'OFF')

    # Without a system URI, the agent would fence the last machine of the collection. This step only requests
    # the status.
    with lab.steps.step(NAME, 'finds-a-system-by-itself'):
        preamble, _ = commands('fence_redfish')
        run_command(preamble + 'fence --action=status || test $? = 2', lab.environment(lab.machines[0]))
    with lab.steps.step(NAME, 'refuses-a-wrong-password'):
        try:
            run_command(preamble + 'fence --systems-uri=$SYSTEM --password=wrong --action=status', lab.environment(lab.machines[0]))
        except Unexpected as refusal:
            if 'exit status 2' in str(refusal):
                raise
        else:
            raise Unexpected('the login succeeded')
