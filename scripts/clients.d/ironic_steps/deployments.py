"""Steps of Ironic that boot images: cleaning and further deployments; also its vendor calls."""
from ironic_steps.agent import Agent
from ironic_service import Node
from steps import expect, expect_in, wait_for


class Deployments:
    """Steps for one machine. The class that inherits these steps has `lab`, `ironic`, `machine`, `console`, `node` and `driver_info`."""

    # ---- cleaning: Ironic boots an image, and then changes BIOS settings

    def clean(self, *steps):
        self.node.provision('manage', 'manageable')
        # The deploy interface `ramdisk`, which the page uses, cannot clean.
        self.node.patch('/deploy_interface', 'direct')
        self.node.patch('/driver_info/deploy_iso', self.lab.image_url)
        agent = Agent(self.node)
        try:
            self.node.ask('PUT', '/states/provision', {'target': 'clean', 'clean_steps': list(steps)})
            agent.wait_for_state('clean wait', 120)
            self.console.expect_boot('ISO')
            agent.heartbeat_until('manageable')
            expect('power', self.machine.power, 'Off')
            expect('Inserted', self.machine.drive()['Inserted'], False)
        finally:
            agent.close()
            if self.node.read()['provision_state'] == 'clean failed':
                self.node.patch('/maintenance', False)
                self.node.provision('manage', 'manageable')
            self.node.patch('/deploy_interface', 'ramdisk')
            self.node.provision('provide', 'available')

    def step_set_a_BIOS_setting(self):
        self.console.forget()
        self.clean({'interface': 'bios', 'step': 'apply_configuration', 'args': {'settings': [{'name': 'ProcTurboMode', 'value': 'Disabled'}]}})
        found = self.node.ask('GET', '/bios/ProcTurboMode')['ProcTurboMode']
        expect('the setting', found['value'], 'Disabled')

    def step_reset_the_BIOS_settings(self):
        self.console.forget()
        self.clean({'interface': 'bios', 'step': 'factory_reset'})
        expect('the setting', self.node.ask('GET', '/bios/ProcTurboMode')['ProcTurboMode']['value'], 'Enabled')

    # ---- vendor

    def vendor(self, method, http='POST', body=None):
        return self.node.ask(http, f'/vendor_passthru?method={method}', body)

    def step_eject_by_vendor_call(self):
        drive = self.machine.drive()['@odata.id']
        self.machine.bmc.write('POST', f'{drive}/Actions/VirtualMedia.InsertMedia', {'Image': self.lab.image_url})
        self.vendor('eject_vmedia', body={})
        wait_for('Inserted', lambda: self.machine.drive()['Inserted'], False, 60)

    def step_subscribe(self):
        self.subscription = self.vendor('create_subscription', body={'Destination': 'https://127.0.0.1:9/redfish', 'Context': 'ironic'})['Id']

    def step_subscriptions(self):
        found = self.vendor('get_all_subscriptions', 'GET')['Members']
        expect_in('the subscriptions', [member['@odata.id'].rsplit('/', 1)[1] for member in found], self.subscription)

    def step_unsubscribe(self):
        self.vendor('delete_subscription', 'DELETE', {'id': self.subscription})

    # ---- more deployments than in docs/guides/clients.md

    def deploy(self, image, **more):
        self.node.patch('/instance_info/boot_iso', image)
        self.console.forget()
        self.node.provision('active', 'active', 600, **more)
        self.console.expect_boot('ISO')

    def undeploy(self):
        self.node.provision('deleted', 'available')
        expect('Inserted', self.machine.drive()['Inserted'], False)
        self.machine.wait_for_power('Off')

    def step_deploy_again(self):
        self.deploy(self.lab.image_url)

    def step_deployed_machine_boots_the_image_at_each_start(self):
        self.console.forget()
        self.node.ask('PUT', '/states/power', {'target': 'rebooting'})
        self.node.wait_for_power('power on')
        self.console.expect_boot('ISO')

    def step_rebuild(self):
        self.console.forget()
        self.node.provision('rebuild', 'active', 600)
        self.console.expect_boot('ISO')

    def step_undeploy_again(self):
        self.undeploy()

    def step_deploy_with_a_config_drive(self):
        self.deploy(self.lab.image_url, configdrive={'meta_data': {'name': 'clients'}, 'user_data': '#cloud-config'})
        stick = self.machine.drive('USBStick')
        expect('Inserted of the stick', stick['Inserted'], True)

    def step_undeploy_with_the_config_drive(self):
        self.undeploy()
        expect('Inserted of the stick', self.machine.drive('USBStick')['Inserted'], False)

    def step_deploy_a_slow_image(self):
        """Ironic ignores tasks, so the machine must not start with an empty drive."""
        self.lab.images.sent_whole.clear()
        self.deploy(self.lab.slow_image_url)
        expect('whether the whole image was sent', self.lab.was_sent(self.lab.slow_image_url), True)

    def step_undeploy_the_slow_image(self):
        self.undeploy()

    def step_adopt(self):
        node = Node(self.ironic, f'{self.node.name}-adopted')
        node.create(self.driver_info, instance_info={'boot_iso': self.lab.image_url})
        try:
            node.provision('manage', 'manageable')
            node.provision('adopt', 'active')
        finally:
            node.delete()

    def step_delete(self):
        self.node.delete()
