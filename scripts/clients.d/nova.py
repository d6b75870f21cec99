"""The steps of the clients that a daemon in front of OpenStack's Nova does not offer, with the reasons.

docs/guides/openstack.md lists the same differences for users. If a listed step passes with bmc-daemon, it counts
as failed, because its entry would hide a later failure.
"""
from fnmatch import fnmatchcase

BUTTON = 'Nova has no action that only presses the button'
DRIVES = 'a server has one CD drive'
FIRMWARE = 'Nova has no firmware settings to change'
INDICATOR = 'Nova stores no indicator'
MODE = 'Nova fixes boot mode and Secure Boot when it creates a server'
ORDER = 'Nova has no boot order'
RUNNING = 'Nova cannot change the CD of a running guest'
UPDATES = 'Nova has no firmware to update'
VOLUMES = 'the daemon does not create volumes in Cinder'

NOT_OFFERED = {
    'sushy.indicator*': INDICATOR,
    'sushy.make-a-volume': VOLUMES,
    'sushy.delete-the-volume': VOLUMES,
    'sushy.boot-mode-again': MODE,
    'sushy.boot-mode-other-and-back': MODE,
    'sushy.secure-boot-switch-*': MODE,
    'sushy.secure-boot-reset-keys': MODE,
    'sushy.bios-set*': FIRMWARE,
    'sushy.bios-reset': FIRMWARE,
    'sushy.insert-while-on': RUNNING,
    'sushy.change-while-on': RUNNING,
    'sushy.push-the-power-button': BUTTON,
    'redfishtool.blink': INDICATOR,
    'redfishtool.light-the-chassis': INDICATOR,
    'gofish.boot-options': ORDER,
    'ansible.GetBootOrder': ORDER,
    'ansible.SetBootOrder': ORDER,
    'ansible.IndicatorLed*': INDICATOR,
    'ansible.VerifyBiosAttributes': FIRMWARE,
    'ansible.SetBiosDefaultSettings': FIRMWARE,
    'ansible.EnableSecureBoot': MODE,
    'ansible.GetFirmwareUpdateCapabilities': UPDATES,
    'ironic.boot-mode-the-other': MODE,
    'ironic.secure-boot-on': MODE,
    'ironic.indicator-*': INDICATOR,
    'ironic.*config-drive': DRIVES,
    'ironic.set-a-BIOS-setting': FIRMWARE,
    'ironic.reset-the-BIOS-settings': FIRMWARE,
}

# Steps that are not tried: a failure would change the machine for later steps, or would take minutes.
NOT_TRIED = ('ironic.set-a-BIOS-setting', 'ironic.reset-the-BIOS-settings', 'ironic.*config-drive', 'sushy.*-while-on', 'sushy.push-the-power-button')


def reason_of(step):
    """Returns why Nova does not offer this step; None if it does. The name must not have the suffix for a machine (`[…]`)."""
    return next((reason for pattern, reason in NOT_OFFERED.items() if fnmatchcase(step, pattern)), None)


def should_try(step):
    """Returns whether to try a step. With bmc-daemon, a listed step that is tried must not pass."""
    return reason_of(step) is None or not any(fnmatchcase(step, pattern) for pattern in NOT_TRIED)
