/** The machines of a libvirt host: EMULATOR_LIBVIRT_URI. */
import { createLibvirtDriver } from '../drivers/libvirt/libvirt-driver.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { DriverContext } from './driver-context.js';

/** Creates the driver of a libvirt host. This is the driver if the settings select no other one. */
export function libvirt({ settings, images, log, settingError }: DriverContext): HypervisorDriver {
  try {
    return createLibvirtDriver({
      uri: settings.libvirtUri,
      bootLoaderMap: { efi: settings.bootLoaderMap.UEFI ?? {}, bios: settings.bootLoaderMap.Legacy ?? {} },
      secureBootTemplates: { enabled: settings.secureBootEnabledNvram, disabled: settings.secureBootDisabledNvram },
      storagePool: settings.storagePool,
      gracefulRestartWaitMs: settings.gracefulRestartWaitSeconds * 1000,
      timeoutMs: settings.libvirtTimeoutSeconds * 1000,
      images,
      log,
    });
  } catch (error) {
    // The driver does not connect yet, so only the URI can be wrong.
    const why = error instanceof Error ? error.message : String(error);
    throw settingError('libvirtUri', `EMULATOR_LIBVIRT_URI cannot be used: ${why}`, error);
  }
}
