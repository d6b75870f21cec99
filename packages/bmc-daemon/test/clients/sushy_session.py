"""Uses sushy, OpenStack's Redfish client, as an operator does: power, one-time boot, virtual media, on one machine.

python3 sushy_session.py SERVICE_URL SYSTEM_PATH IMAGE_URL [USER PASSWORD]

Prints `booted` twice, and waits each time for a line on its input, while the test checks the guest. Then prints
a JSON object with the values that sushy read after each step. A fault of the service raises sushy's exception,
with exit status 1.
"""
import json
import sys
import time

import sushy
from sushy import auth


def wait_for_power(system, state, seconds=120):
    """Polls the power state, as Ironic does: sushy itself does not wait."""
    deadline = time.monotonic() + seconds
    while True:
        system.refresh(force=True)
        if system.power_state == state:
            return system.power_state.value
        if time.monotonic() > deadline:
            raise SystemExit(f'{system.path} is {system.power_state} after {seconds} s, not {state}')
        time.sleep(0.2)


def let_the_guest_boot():
    print('booted', flush=True)
    sys.stdin.readline()


def boot_of(system):
    system.refresh(force=True)
    return [system.boot.enabled.value, system.boot.target.value]


def media_of(drive):
    drive.refresh(force=True)
    return [drive.inserted, drive.image]


def main(service_url, system_path, image_url, *credentials):
    login = auth.BasicAuth(*credentials) if credentials else None
    root = sushy.Sushy(service_url, auth=login, verify=False)
    system = root.get_system(system_path)
    steps = {'systems': len(root.get_system_collection().get_members()), 'name': system.name}

    system.reset_system(sushy.ResetType.FORCE_OFF)
    steps['off'] = wait_for_power(system, sushy.PowerState.OFF)

    # Ironic uses the first drive of the manager that accepts a CD.
    drives = system.managers[0].virtual_media.get_members()
    drive = next(d for d in drives if sushy.VirtualMediaType.CD in d.media_types)
    drive.insert_media(image_url)
    steps['inserted'] = media_of(drive)

    system.set_system_boot_options(target=sushy.BootSource.CD, enabled=sushy.BootSourceOverrideEnabled.ONCE)
    steps['once'] = boot_of(system)
    system.reset_system(sushy.ResetType.ON)
    steps['on'] = wait_for_power(system, sushy.PowerState.ON)
    let_the_guest_boot()
    steps['after once'] = boot_of(system)[0]
    system.reset_system(sushy.ResetType.FORCE_RESTART)
    steps['restarted'] = wait_for_power(system, sushy.PowerState.ON)
    let_the_guest_boot()

    system.set_system_boot_options(target=sushy.BootSource.PXE, enabled=sushy.BootSourceOverrideEnabled.CONTINUOUS)
    steps['continuous'] = boot_of(system)
    system.set_system_boot_options(enabled=sushy.BootSourceOverrideEnabled.DISABLED)
    steps['disabled'] = boot_of(system)[0]

    drive.eject_media()
    steps['ejected'] = media_of(drive)
    system.reset_system(sushy.ResetType.FORCE_OFF)
    steps['off again'] = wait_for_power(system, sushy.PowerState.OFF)
    print(json.dumps(steps))


if __name__ == '__main__':
    main(*sys.argv[1:])
