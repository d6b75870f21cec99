"""Steps of identity and inventory."""
from steps import Unexpected, expect, expect_in, wait_for

from .system import SushySystem


class Inventory(SushySystem):
    """Steps of identity and inventory."""

    def step_connect_with_basic(self):
        expect_in('the systems', [system.path for system in self.root.get_system_collection().get_members()], self.machine.path)

    def step_connect_with_a_session(self):
        expect('the name', self.connect(self.sushy.auth.SessionAuth).get_system(self.machine.path).name, self.machine.name)

    def step_connect_with_whatever_works(self):
        expect('the name', self.connect(self.sushy.auth.SessionOrBasicAuth).get_system(self.machine.path).name, self.machine.name)

    def step_identity(self):
        system = self.system
        for field in ('identity', 'uuid', 'name', 'manufacturer', 'system_type', 'status'):
            if getattr(system, field) in (None, ''):
                raise Unexpected(f'the system has no {field}')
        # A machine has these only if its definition sets them; reading them must work in any case.
        for field in ('serial_number', 'sku', 'part_number', 'bios_version', 'hostname', 'asset_tag', 'description'):
            getattr(system, field)

    def step_asset_tag(self):
        self.machine.bmc.write('PATCH', self.machine.path, {'AssetTag': 'shelf-3'})
        self.system.refresh(force=True)
        expect('asset_tag', self.system.asset_tag, 'shelf-3')

    def step_product(self):
        for field in ('identity', 'uuid', 'product', 'redfish_version'):
            if not getattr(self.root, field):
                raise Unexpected(f'the root has no {field}')

    # ---- inventory

    def step_memory(self):
        if not (self.system.memory_summary.size_gib or 0) >= 1:
            raise Unexpected(f'memory is {self.system.memory_summary.size_gib} GiB')

    def step_processors(self):
        summary = self.system.processors.summary
        if not summary.count or not summary.architecture:
            raise Unexpected(f'processors: {summary}')
        expect('whether there is a processor', len(self.system.processors.get_members()) > 0, True)

    def step_ethernet_interfaces(self):
        interfaces = self.system.ethernet_interfaces.summary
        if not interfaces or set(state.value for state in interfaces.values()) != {'Enabled'}:
            raise Unexpected(f'interfaces: {interfaces}')

    def step_simple_storage(self):
        expect('whether a disk has more than 0 bytes', self.system.simple_storage.max_size_bytes > 0, True)

    def step_storage(self):
        units = self.system.storage.get_members()
        if not any(unit.drives for unit in units):
            raise Unexpected('no storage unit has a drive')
        for unit in units:
            for drive in unit.drives:
                expect('whether the capacity is above 0', drive.capacity_bytes > 0, True)
            # `storage_controllers` is the form before 2020, which is deprecated.
            controllers = unit.storage_controllers or unit.controllers.get_members()
            expect('whether there is a controller', len(controllers) > 0, True)

    def step_volumes(self):
        sizes = [size for unit in self.system.storage.get_members() for size in unit.volumes.volumes_sizes_bytes]
        expect('whether there is a volume', len(sizes) > 0, True)

    def fresh_volumes(self):
        """Reads the volumes of the first storage unit again, because sushy caches them."""
        return self.root.get_system(self.machine.path).storage.get_members()[0].volumes

    def step_make_a_volume(self):
        self.fresh_volumes().create({'Name': 'scratch', 'CapacityBytes': 64 * 2**20, 'VolumeType': 'NonRedundant'})
        sizes = {volume.name: volume.capacity_bytes for volume in self.fresh_volumes().get_members()}
        expect('the size of the volume', sizes.get('scratch'), 64 * 2**20)

    def step_delete_the_volume(self):
        next(volume for volume in self.fresh_volumes().get_members() if volume.name == 'scratch').delete()
        expect('whether the volume exists', 'scratch' in [volume.name for volume in self.fresh_volumes().get_members()], False)

    def step_chassis(self):
        chassis = self.system.chassis[0]
        expect_in('its systems', [system.path for system in chassis.systems], self.machine.path)
        expect_in('its managers', [manager.path for manager in chassis.managers], self.machine.manager)

    def step_power_of_the_chassis(self):
        self.system.chassis[0].power.power_supplies

    def step_thermal_of_the_chassis(self):
        self.system.chassis[0].thermal.temperatures

    def step_manager(self):
        manager = self.system.managers[0]
        expect('type', manager.manager_type, self.sushy.ManagerType.BMC)
        expect_in('its systems', [system.path for system in manager.systems], self.machine.path)
        # By default, `ManagerForChassis` is empty (RF-49 of the contract), and sushy would fail.
        # EMULATOR_DMTF_STRICT fills it.
        if self.machine.bmc.get(self.machine.manager)['Links']['ManagerForChassis']:
            expect('whether the manager has a chassis', len(manager.chassis) > 0, True)
        expect('whether there is a firmware version', bool(manager.firmware_version), True)

    def step_reset_of_the_manager(self):
        manager = self.system.managers[0]
        manager.reset_manager(self.sushy.ResetType.GRACEFUL_RESTART)
        wait_for('the manager', lambda: self.machine.bmc.ask('GET', self.machine.manager)[0], 200)

    def step_indicator(self):
        for state in (self.sushy.IndicatorLED.BLINKING, self.sushy.IndicatorLED.LIT, self.sushy.IndicatorLED.OFF):
            self.system.set_indicator_led(state)
            self.system.refresh(force=True)
            expect('the indicator', self.system.indicator_led, state)

    def step_indicator_of_the_chassis(self):
        chassis = self.system.chassis[0]
        chassis.set_indicator_led(self.sushy.IndicatorLED.LIT)
        chassis.refresh(force=True)
        expect('the indicator', chassis.indicator_led, self.sushy.IndicatorLED.LIT)
