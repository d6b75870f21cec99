/** The servers of an OpenStack cloud: EMULATOR_OS_CLOUD. */
import type { HypervisorDriver } from '../drivers/driver.js';
import { CloudError } from '../drivers/nova/cloud/cloud-error.js';
import { readCloud } from '../drivers/nova/cloud/cloud-settings.js';
import { createNovaDriver } from '../drivers/nova/nova-driver.js';
import type { DriverContext } from './hypervisor.js';

/**
 * Creates the driver of a cloud.
 * @param name the cloud in clouds.yaml.
 */
export function nova(name: string, { settings, environment, log, at }: DriverContext): HypervisorDriver {
  const refused = (error: unknown): unknown =>
    error instanceof CloudError ? at('osCloud', `EMULATOR_OS_CLOUD cannot be used: ${error.message}`, error) : error;
  try {
    const driver = createNovaDriver({
      cloud: readCloud(name, { environment, directory: process.cwd() }),
      filter: settings.osFilter ?? {},
      architecture: settings.osArchitecture,
      timeoutMs: settings.osTimeoutSeconds * 1000,
      log,
    });
    const start = (): Promise<void> =>
      driver.start().catch((error: unknown) => {
        throw refused(error);
      });
    return { ...driver, start };
  } catch (error) {
    throw refused(error);
  }
}
