"""Steps of boot settings without a start, and of firmware."""
from steps import Unexpected, expect

from .system import SushySystem, uefi_only


class Settings(SushySystem):
    """Steps of boot settings without a start, and of firmware."""

    def step_boot_mode(self):
        expect('the mode', self.boot_of()[2], 'UEFI' if self.machine.is_uefi else 'Legacy')

    def step_boot_mode_again(self):
        """Sets the mode that the system already has, as Ironic does before each deployment."""
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
