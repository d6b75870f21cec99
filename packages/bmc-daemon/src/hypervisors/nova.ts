/** The servers of an OpenStack cloud: EMULATOR_OS_CLOUD. */
import { defaultStateDir } from '../config/state-folder.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { CloudError } from '../drivers/nova/cloud/cloud-error.js';
import { readCloud } from '../drivers/nova/cloud/cloud-settings.js';
import { unusedProxy } from '../drivers/nova/cloud/unused-proxy.js';
import { createNovaDriver } from '../drivers/nova/nova-driver.js';
import type { SharedQueues } from '../drivers/queue/machine-queue.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { storedUuid } from '../stored-uuid.js';
import type { DriverContext } from './driver-context.js';

/** Length of the name of a daemon. The name is part of a property of the images that the daemon stores. */
const NAME_LENGTH = 16;

/**
 * Creates the driver of a cloud.
 * @param name the cloud in clouds.yaml.
 * @throws the error of `settingError`, if the settings of the cloud cannot be used.
 * @throws {StoreUnavailable} if the shared store does not answer.
 */
export async function nova(
  name: string,
  { settings, environment, images, store, log, settingError }: DriverContext,
): Promise<HypervisorDriver> {
  const toSettingError = (error: unknown): unknown =>
    error instanceof CloudError
      ? settingError('osCloud', `EMULATOR_OS_CLOUD cannot be used: ${error.message}`, error)
      : error;
  const queues = store === null ? {} : { queues: await openQueues(store) };
  try {
    const cloud = readCloud(name, { environment, directory: process.cwd() });
    const driver = createNovaDriver({
      cloud,
      filter: settings.osFilter ?? {},
      architecture: settings.osArchitecture,
      timeoutMs: settings.osTimeoutSeconds * 1000,
      media: {
        limits: images,
        bus: settings.osVmediaRescueBus,
        fetchedByGlance: !settings.osVmediaImageFileUpload,
        networkImage: settings.osIpxeImage,
        ...queues,
        daemon: daemonName(settings.stateDir ?? defaultStateDir(environment, process.getuid?.()), log),
      },
      log,
    });
    const start = (): Promise<void> => {
      const proxy = unusedProxy(cloud.identityUrl, environment);
      if (proxy !== undefined) log.info(`cloud ${name}: the daemon connects directly, and does not use ${proxy}`);
      return driver.start().catch((error: unknown) => {
        throw toSettingError(error);
      });
    };
    return { ...driver, start };
  } catch (error) {
    throw toSettingError(error);
  }
}

/** Opens the queues that the replicas share. A daemon without replicas never loads this code. */
async function openQueues(store: SharedStore): Promise<SharedQueues> {
  const { openSharedQueues } = await import('../drivers/queue/shared-operations.js');
  return openSharedQueues(store);
}

/**
 * Returns a name that differs for each daemon. The name is in the state folder, which only one daemon
 * uses at a time.
 */
function daemonName(stateDir: string, log: Log): string {
  return storedUuid({ owner: 'daemon', stateDir, log }).replaceAll('-', '').slice(0, NAME_LENGTH);
}
