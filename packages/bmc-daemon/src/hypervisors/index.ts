/** The table of hypervisors. The settings select one of them. */
import type { Settings } from '../config/settings.js';
import { allowSystems } from '../drivers/allowed-systems.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import type { NameLookup } from '../host/name-lookup.js';
import type { ImageServerLimits } from '../media/image-server.js';
import { fake } from './fake.js';
import type { DriverContext, Hypervisor } from './hypervisor.js';
import { libvirt } from './libvirt.js';
import { nova } from './nova.js';

const GIB = 2 ** 30;

/** All hypervisors except libvirt, which serves if the settings select none of these. */
const hypervisors: readonly Hypervisor[] = [fake, nova];

/**
 * Creates the driver of the selected hypervisor, for the allowed machines.
 * @param context `lookup` resolves the names of image servers.
 * @throws the error of `at`, for a setting that cannot be used.
 */
export function createDriver({
  lookup,
  ...context
}: Omit<DriverContext, 'images'> & { readonly lookup: NameLookup }): HypervisorDriver {
  const { settings } = context;
  const driver = select({ ...context, images: imageLimits(settings, lookup) });
  return settings.allowedInstances === null ? driver : allowSystems(driver, settings.allowedInstances);
}

function select(context: DriverContext): HypervisorDriver {
  for (const hypervisor of hypervisors) {
    const driver = hypervisor(context);
    if (driver !== undefined) return driver;
  }
  return libvirt(context);
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
