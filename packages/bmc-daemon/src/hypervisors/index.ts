/**
 * Creates the driver of the hypervisor that the settings select. Loads only the code of this
 * driver.
 */
import type { Settings } from '../config/settings.js';
import { allowSystems } from '../drivers/allowed-systems.js';
import type { NameLookup } from '../host/name-lookup.js';
import type { ImageServerLimits } from '../media/image-client.js';
import type { DriverContext, OpenedDriver } from './driver-context.js';

const GIB = 2 ** 30;

/**
 * Creates the driver of the selected hypervisor. With EMULATOR_ALLOWED_INSTANCES, it serves only those machines.
 * @param context `lookup` resolves the names of image servers.
 * @throws the error of `settingError`, for a setting that cannot be used.
 * @throws {StoreUnavailable} only for a cloud with a shared store.
 */
export async function createDriver({
  lookup,
  ...context
}: Omit<DriverContext, 'images'> & { readonly lookup: NameLookup }): Promise<OpenedDriver> {
  const { settings } = context;
  const opened = await open({ ...context, images: imageLimits(settings, lookup) });
  const { allowedInstances: allowed } = settings;
  return allowed === null ? opened : { ...opened, driver: allowSystems(opened.driver, allowed) };
}

async function open(context: DriverContext): Promise<OpenedDriver> {
  const { fakeDriver, osCloud } = context.settings;
  if (fakeDriver) return { driver: (await import('./fake.js')).fake(context) };
  if (osCloud !== null) return { driver: await (await import('./nova.js')).nova(osCloud, context) };
  return (await import('./libvirt.js')).libvirt(context);
}

function imageLimits(settings: Settings, lookup: NameLookup): ImageServerLimits {
  const { vmediaAllowedHosts: allowed, virtualMediaIpFamily: family } = settings;
  return {
    connectTimeoutMs: settings.vmediaConnectTimeoutSeconds * 1000,
    answerTimeoutMs: settings.vmediaAnswerTimeoutSeconds * 1000,
    idleTimeoutMs: settings.vmediaIdleTimeoutSeconds * 1000,
    downloadTimeoutMs: settings.vmediaDownloadTimeoutSeconds * 1000,
    maxBytes: Math.floor(settings.vmediaMaxImageGib * GIB),
    caFile: settings.vmediaCaFile ?? undefined,
    hosts: { allowed, ipFamily: family === null ? null : family === '4' ? 4 : 6, lookup },
  };
}
