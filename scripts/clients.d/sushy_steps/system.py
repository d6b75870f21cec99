"""The base class of steps with sushy."""
import shutil
import sys
from pathlib import Path

from steps import expect

DEBIANS = Path('/usr/lib/python3/dist-packages/sushy')


def debians_sushy(folder):
    """Copies Debian's package and adds a folder that it lacks. Without this folder, every registry lookup fails.

    @returns the folder to import the copy from.
    """
    copy = folder / 'python' / 'sushy'
    if not copy.exists():
        shutil.copytree(DEBIANS, copy)
        (copy / 'standard_registries').mkdir(exist_ok=True)
    return copy.parent


def import_sushy(folder):
    """Imports sushy: Debian's with Debian's Python, otherwise the sushy of the Python in `scripts/clients --sushy PYTHON`.

    @returns (the module, the folder that it was imported from).
    """
    if sys.prefix == '/usr':
        sys.path.insert(0, str(debians_sushy(folder)))
    import sushy
    return sushy, Path(sushy.__file__).parents[1]


def uefi_only(step):
    """Marks a step that needs UEFI."""
    step.uefi_only = True
    return step


def slow(step):
    """Marks a step that does not run with --quick."""
    step.slow = True
    return step


class SushySystem:
    """A system of sushy. In derived classes, every method named step_… is a step."""

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
        # As in Ironic: newer versions of sushy prefer the drives of the system, older ones know only those of the manager.
        owner = self.system if hasattr(type(self.system), 'virtual_media') else self.system.managers[0]
        drives = owner.virtual_media.get_members()
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

    def override(self, target, enabled):
        self.system.set_system_boot_options(self.sushy.BootSource(target), self.sushy.BootSourceOverrideEnabled(enabled))
        expect('the override', self.boot_of()[:2], (enabled, target))
