"""sushy, OpenStack's library: the session of docs/guides/clients.md, then each function of the library."""
import logging
import sys

from page import block, run as run_command
from steps import Unexpected, expect, expect_in, wait_for

NAME = 'sushy'
NEEDS_HTTPS = False


def import_sushy(folder):
    """Makes a copy of Debian's package with a missing folder. Without it, every registry lookup fails."""
    import importlib.util
    import shutil
    from pathlib import Path

    original = Path(importlib.util.find_spec('sushy').origin).parent
    copy = folder / 'python' / 'sushy'
    if not copy.exists():
        shutil.copytree(original, copy)
        (copy / 'standard_registries').mkdir(exist_ok=True)
        sys.path.insert(0, str(copy.parent))
    import sushy
    return sushy, copy.parent


def uefi_only(step):
    """Marks a step that needs UEFI."""
    step.uefi_only = True
    return step


def slow(step):
    """Marks a step that --quick skips."""
    step.slow = True
    return step


class Session:
    """A system of sushy. Every method named step_… is a step; they run in the order of the source."""

    def __init__(self, lab, sushy, machine):
        self.lab, self.sushy, self.machine = lab, sushy, machine
        self.console = lab.console(machine)
        self.root = self.connect(sushy.auth.BasicAuth)
        self.system = self.root.get_system(machine.path)

    def connect(self, method):
        bmc = self.machine.bmc
        auth = method(bmc.user, bmc.password) if bmc.user else None
        return self.sushy.Sushy(bmc.url + '/redfish/v1/', auth=auth, verify=False)

    @property
    def drive(self):
        drives = self.system.managers[0].virtual_media.get_members()
        return next(drive for drive in drives if self.sushy.VirtualMediaType.CD in drive.media_types)

    def reset(self, name, state):
        self.system.reset_system(self.sushy.ResetType[name])
        self.machine.wait_for_power(state)

    def boots(self, kind):
        self.console.expect_boot(kind)

    def boot_of(self):
        self.system.refresh(force=True)
        boot = self.system.boot
        return boot.enabled and boot.enabled.value, boot.target and boot.target.value, boot.mode and boot.mode.value

    # ---- identity

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
        expect('count', len(self.system.processors.get_members()) > 0, True)

    def step_ethernet_interfaces(self):
        interfaces = self.system.ethernet_interfaces.summary
        if not interfaces or set(state.value for state in interfaces.values()) != {'Enabled'}:
            raise Unexpected(f'interfaces: {interfaces}')

    def step_simple_storage(self):
        expect('a disk of some size', self.system.simple_storage.max_size_bytes > 0, True)

    def step_storage(self):
        units = self.system.storage.get_members()
        if not any(unit.drives for unit in units):
            raise Unexpected('no storage unit has a drive')
        for unit in units:
            for drive in unit.drives:
                expect('capacity', drive.capacity_bytes > 0, True)
            # The first property is the form before 2020, which is deprecated.
            controllers = unit.storage_controllers or unit.controllers.get_members()
            expect('a controller', len(controllers) > 0, True)

    def step_volumes(self):
        sizes = [size for unit in self.system.storage.get_members() for size in unit.volumes.volumes_sizes_bytes]
        expect('volumes', len(sizes) > 0, True)

    def fresh_volumes(self):
        """Reads the volumes of the first storage unit again, because sushy caches them."""
        return self.root.get_system(self.machine.path).storage.get_members()[0].volumes

    def step_make_a_volume(self):
        self.fresh_volumes().create({'Name': 'scratch', 'CapacityBytes': 64 * 2**20, 'VolumeType': 'NonRedundant'})
        sizes = {volume.name: volume.capacity_bytes for volume in self.fresh_volumes().get_members()}
        expect('the size of it', sizes.get('scratch'), 64 * 2**20)

    def step_delete_the_volume(self):
        next(volume for volume in self.fresh_volumes().get_members() if volume.name == 'scratch').delete()
        expect('its name among the others', 'scratch' in [volume.name for volume in self.fresh_volumes().get_members()], False)

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
        # Empty by row RF-49, which sushy treats as a fault. EMULATOR_DMTF_STRICT fills it.
        if self.machine.bmc.get(self.machine.manager)['Links']['ManagerForChassis']:
            expect('its chassis', len(manager.chassis) > 0, True)
        expect('firmware', bool(manager.firmware_version), True)

    def step_reset_of_the_manager(self):
        manager = self.system.managers[0]
        manager.reset_manager(self.sushy.ResetType.GRACEFUL_RESTART)
        wait_for('the manager', lambda: self.machine.bmc.ask('GET', self.machine.manager)[0], 200)

    def step_indicator(self):
        for state in (self.sushy.IndicatorLED.BLINKING, self.sushy.IndicatorLED.LIT, self.sushy.IndicatorLED.OFF):
            self.system.set_indicator_led(state)
            self.system.refresh(force=True)
            expect('the light', self.system.indicator_led, state)

    def step_indicator_of_the_chassis(self):
        chassis = self.system.chassis[0]
        chassis.set_indicator_led(self.sushy.IndicatorLED.LIT)
        chassis.refresh(force=True)
        expect('the light', chassis.indicator_led, self.sushy.IndicatorLED.LIT)

    # ---- boot settings without a start

    def step_boot_mode(self):
        expect('the mode', self.boot_of()[2], 'UEFI' if self.machine.is_uefi else 'Legacy')

    def step_boot_mode_again(self):
        """Ironic does that before each deployment."""
        mode = self.sushy.BootSourceOverrideMode.UEFI if self.machine.is_uefi else self.sushy.BootSourceOverrideMode.LEGACY
        self.system.set_system_boot_options(mode=mode)
        expect('the mode', self.boot_of()[2], mode.value)

    def step_boot_mode_other_and_back(self):
        modes = [self.sushy.BootSourceOverrideMode.UEFI, self.sushy.BootSourceOverrideMode.LEGACY]
        if self.machine.is_uefi:
            modes.reverse()
        for mode in modes:
            self.system.set_system_boot_options(mode=mode)
            expect('the mode', self.boot_of()[2], mode.value)

    def override(self, target, enabled):
        self.system.set_system_boot_options(self.sushy.BootSource(target), self.sushy.BootSourceOverrideEnabled(enabled))
        expect('the override', self.boot_of()[:2], (enabled, target))

    def step_override_by_cd_once(self):
        self.override('Cd', 'Once')

    def step_override_by_network_once(self):
        self.override('Pxe', 'Once')

    def step_override_by_disk_always(self):
        self.override('Hdd', 'Continuous')

    @uefi_only
    def step_override_by_http_once(self):
        self.override('UefiHttp', 'Once')

    def step_override_target_alone_keeps_for_how_long(self):
        self.override('Hdd', 'Continuous')
        self.machine.bmc.write('PATCH', self.machine.path, {'Boot': {'BootSourceOverrideTarget': 'Cd'}})
        expect('the override', self.boot_of()[:2], ('Continuous', 'Cd'))

    def step_override_disabled(self):
        self.system.set_system_boot_options(enabled=self.sushy.BootSourceOverrideEnabled.DISABLED)
        expect('the override', self.boot_of()[0], 'Disabled')

    # ---- firmware

    def step_bios_attributes(self):
        attributes = self.system.bios.attributes
        if not attributes:
            raise Unexpected('no BIOS attributes')

    def step_bios_registry(self):
        registry = self.system.bios.get_attribute_registry()
        if registry is None:
            raise Unexpected('no attribute registry')
        described = {entry.name for entry in registry.registry_entries.attributes}
        expect('attributes that the registry does not describe', set(self.system.bios.attributes) - described, set())

    def step_bios_set(self):
        bios = self.system.bios
        bios.set_attribute('ProcTurboMode', 'Disabled')
        bios.refresh(force=True)
        found = bios.pending_attributes.get('ProcTurboMode', bios.attributes.get('ProcTurboMode'))
        expect('the pending attribute', found, 'Disabled')

    def step_bios_set_takes_effect_at_the_next_start(self):
        self.reset('ON', 'On')
        self.reset('FORCE_OFF', 'Off')
        bios = self.system.bios
        bios.refresh(force=True)
        expect('the attribute', bios.attributes['ProcTurboMode'], 'Disabled')

    def step_bios_reset(self):
        self.system.bios.reset_bios()
        self.reset('ON', 'On')
        self.reset('FORCE_OFF', 'Off')
        bios = self.system.bios
        bios.refresh(force=True)
        expect('the attribute', bios.attributes['ProcTurboMode'], 'Enabled')

    @uefi_only
    def step_secure_boot_off(self):
        expect('secure boot', self.system.secure_boot.enabled, False)

    @uefi_only
    def step_secure_boot_switch_on(self):
        self.system.secure_boot.set_enabled(True)
        self.system.refresh(force=True)
        self.system.secure_boot.refresh(force=True)
        expect('secure boot', self.system.secure_boot.enabled, True)

    @uefi_only
    def step_secure_boot_switch_off(self):
        self.system.secure_boot.set_enabled(False)
        self.system.secure_boot.refresh(force=True)
        expect('secure boot', self.system.secure_boot.enabled, False)

    @uefi_only
    def step_secure_boot_reset_keys(self):
        self.system.secure_boot.reset_keys(self.sushy.SecureBootResetKeysType.RESET_ALL_KEYS_TO_DEFAULT)

    @uefi_only
    def step_secure_boot_back_as_it_was(self):
        secure = self.system.secure_boot
        secure.refresh(force=True)
        if secure.enabled:
            secure.set_enabled(False)
        secure.refresh(force=True)
        expect('secure boot', secure.enabled, False)

    # ---- media and power

    def step_insert(self):
        self.drive.insert_media(self.lab.image_url)
        drive = self.drive
        expect('the drive', (drive.inserted, drive.image), (True, self.lab.image_url))

    def step_boot_from_it_once(self):
        self.override('Cd', 'Once')
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')

    def step_override_is_over_after_that(self):
        expect('the override', self.boot_of()[0], 'Disabled')

    def step_second_boot_from_the_disk(self):
        self.reset('FORCE_RESTART', 'On')
        self.boots('DISK')

    def step_eject_while_on(self):
        self.drive.eject_media()
        expect('inserted', self.drive.inserted, False)

    def step_insert_while_on(self):
        self.drive.insert_media(self.lab.other_image_url)
        self.seen('OTHER')

    def step_change_while_on(self):
        drive = self.drive
        drive.eject_media()
        self.seen(None)
        drive.insert_media(f'{self.lab.images.url}/boot.iso')
        self.seen('RESCUE')

    def seen(self, label):
        self.console.expect_media(label)

    def step_graceful_restart(self):
        self.console.forget()
        self.reset('GRACEFUL_RESTART', 'On')
        self.boots('DISK')

    def step_override_once_while_on(self):
        self.override('Cd', 'Once')
        self.console.forget()
        self.reset('FORCE_RESTART', 'On')
        self.boots('ISO')

    def step_nmi(self):
        self.system.reset_system(self.sushy.ResetType.NMI)
        expect('power', self.machine.power, 'On')

    def step_pause_and_resume(self):
        self.system.reset_system(self.sushy.ResetType.PAUSE)
        self.machine.wait_for_power('Paused')
        self.system.reset_system(self.sushy.ResetType.RESUME)
        self.machine.wait_for_power('On')

    def step_power_cycle(self):
        self.console.forget()
        self.reset('POWER_CYCLE', 'On')
        self.boots('DISK')

    def step_graceful_shutdown(self):
        self.reset('GRACEFUL_SHUTDOWN', 'Off')

    def step_force_on(self):
        self.console.forget()
        self.reset('FORCE_ON', 'On')
        self.boots('DISK')

    def step_push_the_power_button(self):
        self.reset('PUSH_POWER_BUTTON', 'Off')

    def step_boot_from_it_always(self):
        self.override('Cd', 'Continuous')
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')
        self.reset('FORCE_RESTART', 'On')
        self.boots('ISO')

    def step_force_off(self):
        self.reset('FORCE_OFF', 'Off')

    def step_eject_at_rest(self):
        self.drive.eject_media()
        self.override('Hdd', 'Continuous')
        expect('inserted', self.drive.inserted, False)

    def step_images_that_are_not_there(self):
        try:
            self.drive.insert_media(f'{self.lab.images.url}/no-such.iso')
        except self.sushy.exceptions.SushyError:
            expect('inserted', self.drive.inserted, False)
            return
        raise Unexpected('it was inserted')

    @slow
    def step_slow_image_and_switch_on_at_once(self):
        """A client that ignores tasks must not get a machine that boots an empty drive."""
        self.override('Cd', 'Once')
        self.drive.insert_media(self.lab.slow_image_url)
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')
        expect('the image was sent whole', self.lab.was_sent(self.lab.slow_image_url), True)


class ServiceSession(Session):
    """The steps for the service."""

    def __init__(self, lab, sushy, machine):
        super().__init__(lab, sushy, machine)
        self.subscription = None

    def step_session_service(self):
        service = self.root.get_session_service()
        expect('enabled', service.service_enabled, True)
        expect('timeout', service.session_timeout > 0, True)

    def step_session_by_hand(self):
        bmc = self.machine.bmc
        if not bmc.user:
            return
        service = self.root.get_session_service()
        token, uri = service.create_session(bmc.user, bmc.password)
        expect('a token', bool(token), True)
        expect_in('the sessions', [session.path for session in service.sessions.get_members()], uri.removeprefix(bmc.url))
        service.close_session(uri)

    def step_wrong_password(self):
        bmc = self.machine.bmc
        if not bmc.user:
            return
        try:
            self.sushy.Sushy(bmc.url + '/redfish/v1/', auth=self.sushy.auth.SessionAuth(bmc.user, 'wrong'), verify=False)
        except self.sushy.exceptions.AccessError:
            return
        raise Unexpected('the login succeeded')

    def step_registries(self):
        messages = [key for key in self.root.lazy_registries.registries if key.startswith('Base.')]
        expect('Base among the registries', len(messages) > 0, True)

    def step_task_service(self):
        service = self.root.get_task_service()
        expect('enabled', service.service_enabled, True)
        service.tasks.get_members()

    def step_update_service(self):
        inventory = self.root.get_update_service().firmware_inventory.get_members()
        versions = {part.identity: part.version for part in inventory}
        expect('firmware with a version', any(versions.values()), True)

    def step_event_service(self):
        service = self.root.get_event_service()
        expect('enabled', service.service_enabled, True)

    def step_subscribe(self):
        subscriptions = self.root.get_event_service().subscriptions
        self.subscription = subscriptions.create(
            {'Destination': 'https://127.0.0.1:9/events', 'Protocol': 'Redfish', 'Context': 'clients', 'EventTypes': ['Alert']})
        subscriptions.refresh(force=True)
        expect('context', self.subscription.context, 'clients')
        expect_in('the subscriptions', [member.path for member in subscriptions.get_members()], self.subscription.path)

    def step_test_event(self):
        self.root.get_event_service().submit_test_event(
            event_id='1', event_timestamp='2026-01-01T00:00:00Z', event_type='Alert', message='hello', message_args=[],
            message_id='Base.1.0.Success', origin=self.machine.path, severity='OK')

    def step_unsubscribe(self):
        self.subscription.delete()
        left = self.root.get_event_service().subscriptions.get_members()
        expect('the subscription among the others', self.subscription.path in [member.path for member in left], False)


def steps_of(kind, is_uefi, is_quick):
    steps = [(name, step) for name, step in vars(kind).items() if name.startswith('step_')]
    return [name for name, step in steps if (is_uefi or not hasattr(step, 'uefi_only')) and not (is_quick and hasattr(step, 'slow'))]


def run(lab):
    sushy, python_path = import_sushy(lab.folder)
    import urllib3
    urllib3.disable_warnings()
    # It also logs each failure.
    logging.disable()
    for machine in lab.machines:
        machine.put_at_rest()
        with lab.steps.step(NAME, 'snippet' + lab.suffix(machine)):
            # Runs the block of the page unchanged.
            lab.console(machine).forget()
            said = run_command(f"/usr/bin/python3 -W ignore - <<'END'\n{block('sushy')}END",
                               lab.environment(machine, PYTHONPATH=str(python_path)))
            expect('what it printed', said.strip(), f'{machine.name} On')
            lab.console(machine).expect_boot('ISO')
        machine.put_at_rest()
        session = Session(lab, sushy, machine)
        for name in steps_of(Session, machine.is_uefi, lab.quick):
            with lab.steps.step(NAME, name.removeprefix('step_').replace('_', '-') + lab.suffix(machine)):
                getattr(session, name)()
        machine.put_at_rest()
    service = ServiceSession(lab, sushy, lab.machines[0])
    for name in steps_of(ServiceSession, True, lab.quick):
        with lab.steps.step(NAME, name.removeprefix('step_').replace('_', '-')):
            getattr(service, name)()
