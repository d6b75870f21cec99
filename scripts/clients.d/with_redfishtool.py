"""redfishtool, as in docs/guides/clients.md, and requests that must fail."""
import json

from page import commands, run as run_command, run_block
from steps import Unexpected, expect, expect_in

NAME = 'redfishtool'
NEEDS_HTTPS = True

# Steps for the service, not for a machine. They run only once, with the first machine.
OF_THE_SERVICE = (
    'versions', 'root', 'odata', 'metadata', 'list-the-systems', 'list-the-chassis', 'list-the-managers', 'account-service', 'add-a-user',
    'get-the-user', 'set-the-password', 'disable-the-user', 'delete-the-user', 'roles', 'session-service', 'set-the-session-timeout', 'login',
    'list-the-sessions', 'work-in-a-session')


def checks(lab, machine):
    """Returns the checks of the output, by step of the page."""
    bmc = machine.bmc

    def users():
        account = f'{bmc.get("/redfish/v1/")["AccountService"]["@odata.id"]}/Accounts'
        return [bmc.get(path)['UserName'] for path in bmc.members(account)]

    return {
        'versions': lambda said: expect('versions', json.loads(said), {'v1': '/redfish/v1/'}),
        'list-the-systems': lambda said: expect_in('the list', said, machine.id),
        'get-a-property': lambda said: expect('PowerState', json.loads(said), {'PowerState': 'Off'}),
        'switch-on': lambda _: (machine.wait_for_power('On'), lab.console(machine).expect_boot('DISK')),
        'restart': lambda _: machine.wait_for_power('On'),
        'switch-off': lambda _: machine.wait_for_power('Off'),
        'boot-from-the-CD-once': lambda _: expect('the override', machine.boot, ('Once', 'Cd')),
        'boot-from-the-network-always': lambda _: expect('the override', machine.boot, ('Continuous', 'Pxe')),
        'boot-as-defined': lambda _: expect('the override', machine.boot[0], 'Disabled'),
        'blink': lambda _: expect('IndicatorLED', machine.body()['IndicatorLED'], 'Blinking'),
        'set-the-asset-tag': lambda _: expect('AssetTag', machine.body()['AssetTag'], 'rack-1-slot-7'),
        'processors': lambda said: expect_in('the processors', said, 'TotalThreads'),
        'ethernet-interfaces': lambda said: expect_in('the interfaces', said, 'MACAddress'),
        'simple-storage': lambda said: expect_in('the storage', said, 'CapacityBytes'),
        'add-a-user': lambda _: expect_in('Accounts', users(), 'rft-guest'),
        'get-the-user': lambda said: expect_in('the account', said, 'ReadOnly'),
        'delete-the-user': lambda _: expect('rft-guest among the accounts', 'rft-guest' in users(), False),
        'roles': lambda said: expect_in('the roles', said, 'Administrator'),
        'insert-an-image': lambda _: expect('Inserted', machine.drive()['Inserted'], True),
        'eject-it': lambda _: expect('Inserted', machine.drive()['Inserted'], False),
    }


def run(lab):
    for machine in lab.machines:
        machine.reset_machine()
        lab.console(machine).forget()
        run_block(lab.steps, NAME, 'redfishtool', lab.environment(machine), checks(lab, machine), lab.suffix(machine),
                  but=() if machine is lab.machines[0] else OF_THE_SERVICE)

    preamble, _ = commands('redfishtool')
    refused = {
        'refuses-a-wrong-password': 'rft -p wrong-password Systems list',
        'refuses-an-unknown-system': 'rft Systems -I no-such-machine',
        'refuses-an-unknown-reset': "rft raw POST $SYSTEM/Actions/ComputerSystem.Reset -d '{\"ResetType\": \"Explode\"}'",
    }
    env = lab.environment(lab.machines[0])
    for name, command in refused.items():
        with lab.steps.step(NAME, name):
            try:
                said = run_command(preamble + command, env)
            except Unexpected as refusal:
                if 'exit status' not in str(refusal):
                    raise
            else:
                raise Unexpected(f'the command succeeded: {said}')
