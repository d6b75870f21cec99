"""Ironic: from enrolling to booting an ISO as in docs/guides/clients.md, and other requests of Ironic to a BMC."""
import re

from ironic_service import Ironic, Node
from ironic_steps.deployments import Deployments
from page import run_block
from steps import Unexpected, expect, expect_in, wait_for
from sushy_steps.system import debians_sushy

NAME = 'ironic'
NEEDS_HTTPS = False


class Machine(Deployments):
    """A machine as Ironic's node. The methods named step_… are steps, in the order of the source."""

    def __init__(self, lab, ironic, machine):
        self.lab, self.ironic, self.machine = lab, ironic, machine
        self.console = lab.console(machine)
        # Ironic allows only host names. The prefix is necessary: `bios` alone is a path of Ironic's API.
        self.node = Node(ironic, re.sub('[^A-Za-z0-9-]', '-', f'node-{machine.name}'))
        bmc = machine.bmc
        self.driver_info = {
            'redfish_address': bmc.url, 'redfish_system_id': machine.path, 'redfish_verify_ca': False,
            'redfish_username': bmc.user or 'nobody', 'redfish_password': bmc.password or 'none', 'redfish_auth_type': 'auto'}

    # ---- before the page's node: ways to log in

    def manages(self, what, **driver_info):
        """Enrolls a node with other settings, lets Ironic manage it, and deletes it."""
        node = Node(self.ironic, f'{self.node.name}-{what}')
        node.create({**self.driver_info, **driver_info})
        try:
            node.provision('manage', 'manageable')
        finally:
            node.delete()

    def step_manage_with_basic(self):
        self.manages('basic', redfish_auth_type='basic')

    def step_manage_with_a_session(self):
        self.manages('session', redfish_auth_type='session')

    def step_wrong_password_is_not_managed(self):
        if not self.machine.bmc.user:
            return
        try:
            self.manages('wrong', redfish_password='wrong')
        except Unexpected as refusal:
            if 'is enroll' not in str(refusal):
                raise
            return
        raise Unexpected('the login succeeded')

    # ---- with the page's node

    def after_enrolling(self):
        machine, node = self.machine, self.node

        def inspected(_):
            found = node.read()['properties']
            body = machine.body()
            expect('memory_mb', int(found['memory_mb']), int(body['MemorySummary']['TotalSystemMemoryGiB']) * 1024)
            expect('cpus above 0', int(found['cpus']) > 0, True)
            expect('cpu_arch', found['cpu_arch'], 'x86_64')
            expect('local_gb above 0', int(found['local_gb']) > 0, True)
            expect_in('capabilities', found['capabilities'], f'boot_mode:{"uefi" if machine.is_uefi else "bios"}')
            ports = [port['address'] for port in self.ironic.get(f'/v1/ports?node={node.name}')['ports']]
            interfaces = [machine.bmc.get(path)['MACAddress'].lower() for path in machine.bmc.members(f'{machine.path}/EthernetInterfaces')]
            expect('ports', sorted(ports), sorted(interfaces))

        return {
            'manage': lambda _: expect('the state', node.read()['provision_state'], 'manageable'),
            'inspect': inspected,
            'provide': lambda _: expect('the state', node.read()['provision_state'], 'available'),
        }

    def after_managing(self):
        machine, node = self.machine, self.node
        return {
            'power-on': lambda _: (node.wait_for_power('power on'), machine.wait_for_power('On'), self.console.expect_boot('DISK')),
            'boot-from-the-CD-once': lambda _: expect('the override', machine.boot, ('Once', 'Cd')),
            'boot-from-the-disk-always': lambda _: expect('the override', machine.boot, ('Continuous', 'Hdd')),
            'show-the-boot-device': lambda said: (expect_in('the boot device', said, 'disk'), expect_in('persistent', said, 'True')),
            'show-the-boot-devices': lambda said: [expect_in('the boot devices', said, device) for device in ('pxe', 'cdrom', 'disk')],
            'list-the-BIOS-settings': lambda said: expect_in('the settings', said, 'BootMode'),
            'reboot': lambda _: (node.wait_for_power('power on'), self.console.expect_boot('DISK')),
            'power-off': lambda _: (node.wait_for_power('power off'), expect('power', machine.power, 'Off')),
        }

    def after_deploying(self):
        machine, node = self.machine, self.node

        def deployed(_):
            expect('the state', node.read()['provision_state'], 'active')
            machine.wait_for_power('On')
            expect('Inserted', machine.drive()['Inserted'], True)
            self.console.expect_boot('ISO')

        return {
            'deploy': deployed,
            'undeploy': lambda _: (expect('the state', node.read()['provision_state'], 'available'), expect('power', machine.power, 'Off'),
                                   expect('Inserted', machine.drive()['Inserted'], False)),
        }

    def set_boot_device(self, device, persistent, wanted):
        self.node.ask('PUT', '/management/boot_device', {'boot_device': device, 'persistent': persistent})
        expect('the override', self.machine.boot, wanted)
        found = self.node.ask('GET', '/management/boot_device')
        expect('the boot device in Ironic', (found['boot_device'], found['persistent']), (device, persistent))

    def step_boot_device_network_once(self):
        self.set_boot_device('pxe', False, ('Once', 'Pxe'))

    def step_boot_device_disk_once(self):
        self.set_boot_device('disk', False, ('Once', 'Hdd'))

    def step_boot_device_network_always(self):
        self.set_boot_device('pxe', True, ('Continuous', 'Pxe'))

    def step_boot_device_cd_always(self):
        self.set_boot_device('cdrom', True, ('Continuous', 'Cd'))

    def step_boot_device_disk_always(self):
        self.set_boot_device('disk', True, ('Continuous', 'Hdd'))

    def step_boot_mode(self):
        states = self.node.ask('GET', '/states')
        expect('boot_mode', states['boot_mode'], 'uefi' if self.machine.is_uefi else 'bios')

    def set_boot_mode(self, mode):
        self.node.ask('PUT', '/states/boot_mode', {'target': mode})
        wait_for('boot_mode', lambda: self.node.ask('GET', '/states')['boot_mode'], mode, 60)
        expect('the mode', self.machine.body()['Boot']['BootSourceOverrideMode'], 'UEFI' if mode == 'uefi' else 'Legacy')

    def step_boot_mode_the_other(self):
        self.set_boot_mode('bios' if self.machine.is_uefi else 'uefi')

    def step_boot_mode_back(self):
        self.set_boot_mode('uefi' if self.machine.is_uefi else 'bios')

    def set_secure_boot(self, target):
        self.node.ask('PUT', '/states/secure_boot', {'target': str(target)})
        wait_for('secure_boot', lambda: self.node.ask('GET', '/states')['secure_boot'], target, 60)
        expect('SecureBootEnable', self.machine.bmc.get(f'{self.machine.path}/SecureBoot')['SecureBootEnable'], target)

    def step_secure_boot_on(self):
        self.set_secure_boot(True)

    def step_secure_boot_off(self):
        self.set_secure_boot(False)

    def set_indicator(self, component, path):
        """Selects the controller by its name. Ironic 21.4 cannot list controllers of a system with SimpleStorage, because
        sushy's SimpleStorage has no `drives`."""
        indicator = f'/management/indicators/{self.machine.bmc.get(path)["UUID"]}@{component}'
        for state in ('blinking', 'on', 'off'):
            self.node.ask('PUT', indicator, {'state': state})
            expect('the indicator', self.node.ask('GET', indicator)['state'], state)

    def step_indicator_of_the_system(self):
        self.set_indicator('system', self.machine.path)

    def step_indicator_of_the_chassis(self):
        self.set_indicator('chassis', self.machine.body()['Links']['Chassis'][0]['@odata.id'])

    def step_sensors(self):
        """Reads the resources of Ironic's sensor collection. A virtual machine has no sensors, but the reads must succeed."""
        chassis = self.machine.body()['Links']['Chassis'][0]['@odata.id']
        for part in ('Power', 'Thermal'):
            self.machine.bmc.get(f'{chassis}/{part}')

    def step_power_changed_without_Ironic(self):
        self.machine.reset('On')
        wait_for('the power state in Ironic', lambda: self.node.read()['power_state'], 'power on', 90)

    def step_soft_reboot(self):
        self.machine.wait_for_power('On')
        self.wait_until_it_listens()
        self.console.forget()
        self.node.ask('PUT', '/states/power', {'target': 'soft rebooting', 'timeout': 120})
        self.node.wait_for_power('power on')
        self.console.expect_boot('DISK')

    def wait_until_it_listens(self):
        """Restarts the machine, and waits until its guest has booted and reacts to the power button."""
        self.console.forget()
        self.machine.reset('ForceRestart')
        self.console.expect_boot('DISK')

    def step_soft_power_off(self):
        self.wait_until_it_listens()
        self.node.ask('PUT', '/states/power', {'target': 'soft power off', 'timeout': 120})
        self.node.wait_for_power('power off')
        expect('power', self.machine.power, 'Off')

    # These steps run before the page's node exists. All other steps run afterwards.
    first = ('step_manage_with_basic', 'step_manage_with_a_session', 'step_wrong_password_is_not_managed')

    def run(self):
        for name in self.first:
            self.step(name)
        machine = self.machine
        env = self.lab.environment(machine, OS_AUTH_TYPE='none', OS_ENDPOINT=self.ironic.url, NODE=self.node.name,
                                   BOOT_MODE='uefi' if machine.is_uefi else 'bios')
        suffix = self.lab.suffix(machine)
        run_block(self.lab.steps, NAME, 'ironic-enrol', env, self.after_enrolling(), suffix)
        self.console.forget()
        run_block(self.lab.steps, NAME, 'ironic-manage', env, self.after_managing(), suffix)
        self.console.forget()
        run_block(self.lab.steps, NAME, 'ironic-deploy', env, self.after_deploying(), suffix)
        for name in (*vars(Machine), *vars(Deployments)):
            if name.startswith('step_') and name not in self.first and (machine.is_uefi or 'secure_boot' not in name):
                self.step(name)

    def step(self, name):
        self.lab.steps.run(NAME, name.removeprefix('step_').replace('_', '-') + self.lab.suffix(self.machine), getattr(self, name))


def run(lab):
    ironic = Ironic(lab.new_folder('ironic'), lab.images, debians_sushy(lab.folder))
    try:
        with lab.steps.step(NAME, 'starts'):
            ironic.start()
        for machine in lab.machines:
            machine.reset_machine()
            Machine(lab, ironic, machine).run()
    finally:
        ironic.stop()
