/** Machines in memory: samples, or those of EMULATOR_FAKE_SYSTEMS or EMULATOR_FAKE_MACHINES. */
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { settingsTable } from '../config/settings.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import type { FakePlan } from '../drivers/fake/fake-plan.js';
import { probeImage } from '../drivers/fake/probe-image.js';
import type { InsertOptions } from '../drivers/operation-options.js';
import type { ImageRequest } from '../media/image.js';
import type { FileMachines } from './fake-machines/expand-entries.js';
import { MachineFileError, readMachineFile } from './fake-machines/machine-file.js';
import { startNotifications, type NotificationTarget } from './fake-notifications.js';
import { machinesOf } from './fake-systems.js';
import type { DriverContext } from './driver-context.js';

/**
 * Creates the driver of machines in memory, for tests of clients.
 * @throws the error of `settingError` for an unusable file.
 */
export function fake(context: DriverContext): HypervisorDriver {
  const { images, log } = context;
  const fetchImage = (image: ImageRequest, options: InsertOptions) => probeImage(image, options, images);
  const given = givenMachines(context);
  if (given === undefined) return new FakeDriver({ fetchImage });
  const target = notificationTarget(context);
  let endNotifications = (): void => undefined;
  const { systems, machines, plan } = given;
  const driver = new FakeDriver({ fetchImage, machines, plan, onClose: () => endNotifications() });
  endNotifications = startNotifications(systems, driver, target, log);
  return driver;
}

/**
 * Returns the machines of the settings; undefined: the sample machines.
 * @throws the error of `settingError` for an unusable file.
 */
function givenMachines({ settings, machineFile, settingError }: DriverContext): FakeMachines | undefined {
  const { fakeSystems: systems, fakeMachines: file } = settings;
  if (file === null) return systems === null ? undefined : { systems, machines: machinesOf(systems) };
  if (machineFile !== null) return machineFile;
  try {
    return readMachineFile(file);
  } catch (error) {
    if (!(error instanceof MachineFileError)) throw error;
    throw settingError('fakeMachines', `EMULATOR_FAKE_MACHINES cannot be used: ${error.message}`, error);
  }
}

/** Initial machines, and their delays and failures. */
interface FakeMachines extends Omit<FileMachines, 'plans'> {
  readonly plan?: FakePlan;
}

/** Reads the files of the notification settings. @throws the error of `settingError` for an unreadable file. */
function notificationTarget({ settings, settingError }: DriverContext): NotificationTarget {
  const pem = (
    name: 'ca' | 'cert' | 'key',
    key: 'notificationCaFile' | 'notificationCertFile' | 'notificationKeyFile',
  ) => {
    const file = settings[key];
    if (file === null) return {};
    try {
      return { [name]: readTextFile(file) };
    } catch (error) {
      throw settingError(key, `${settingsTable[key].name} cannot be used: ${file}: ${fileReason(error)}`, error);
    }
  };
  return {
    url: settings.notificationUrl,
    ...pem('ca', 'notificationCaFile'),
    ...pem('cert', 'notificationCertFile'),
    ...pem('key', 'notificationKeyFile'),
  };
}
