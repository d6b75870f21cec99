"""Steps of media and power."""
from steps import Unexpected, expect

from .system import SushySystem, slow


class Power(SushySystem):
    """Steps of media and power."""

    def step_insert(self):
        self.drive.insert_media(self.lab.image_url)
        drive = self.drive
        expect('the drive', (drive.inserted, drive.image), (True, self.lab.image_url))

    def step_boot_from_it_once(self):
        self.override('Cd', 'Once')
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')

    def step_override_ends_after_one_boot(self):
        expect('the override', self.boot_of()[0], 'Disabled')

    def step_second_boot_from_the_disk(self):
        self.reset('FORCE_RESTART', 'On')
        self.boots('DISK')

    def step_eject_while_on(self):
        self.drive.eject_media()
        expect('inserted', self.drive.inserted, False)

    def step_insert_while_on(self):
        self.drive.insert_media(self.lab.other_image_url)
        self.expect_media('OTHER')

    def step_change_while_on(self):
        drive = self.drive
        drive.eject_media()
        self.expect_media(None)
        drive.insert_media(f'{self.lab.images.url}/boot.iso')
        self.expect_media('RESCUE')

    def expect_media(self, label):
        self.console.expect_media(label)

    def step_graceful_restart(self):
        self.console.forget()
        self.reset('GRACEFUL_RESTART', 'On')
        self.boots('DISK')

    def ensure_image(self):
        """Inserts the image if the drive is empty, for example because an earlier step was skipped."""
        if not self.drive.inserted:
            self.drive.insert_media(self.lab.image_url)

    def step_override_once_while_on(self):
        self.ensure_image()
        self.override('Cd', 'Once')
        self.console.forget()
        self.reset('FORCE_RESTART', 'On')
        self.boots('ISO')

    def step_third_boot_from_the_disk(self):
        """Boots the disk, because a later step pauses the machine, and Nova cannot pause a server that runs an image."""
        self.console.forget()
        self.reset('FORCE_RESTART', 'On')
        self.boots('DISK')

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
        self.ensure_image()
        if self.machine.power != 'Off':
            self.reset('FORCE_OFF', 'Off')
        self.override('Cd', 'Continuous')
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')
        self.reset('FORCE_RESTART', 'On')
        self.boots('ISO')

    def step_force_off(self):
        self.reset('FORCE_OFF', 'Off')

    def step_eject_while_off(self):
        self.drive.eject_media()
        self.override('Hdd', 'Continuous')
        expect('inserted', self.drive.inserted, False)

    def step_missing_image(self):
        try:
            self.drive.insert_media(f'{self.lab.images.url}/no-such.iso')
        except self.sushy.exceptions.SushyError:
            expect('inserted', self.drive.inserted, False)
            return
        raise Unexpected('the insert of a missing image succeeded')

    @slow
    def step_slow_image_and_switch_on_at_once(self):
        """A client that ignores tasks must not get a machine that boots an empty drive."""
        self.override('Cd', 'Once')
        self.drive.insert_media(self.lab.slow_image_url)
        self.console.forget()
        self.reset('ON', 'On')
        self.boots('ISO')
        expect('whether the whole image was sent', self.lab.was_sent(self.lab.slow_image_url), True)
