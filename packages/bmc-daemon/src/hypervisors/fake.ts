/** Machines in memory: `--fake`, or the systems of EMULATOR_FAKE_SYSTEMS. */
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { settingsTable } from '../config/settings.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import { probeImage } from '../drivers/fake/probe-image.js';
import type { InsertOptions } from '../drivers/operation-options.js';
import type { ImageRequest } from '../media/image.js';
import { startNotifications, type NotificationTarget } from './fake-notifications.js';
import { machinesOf } from './fake-systems.js';
import type { DriverContext } from './driver-context.js';

/** Creates the driver of machines in memory, for tests of clients. */
export function fake(context: DriverContext): HypervisorDriver {
  const { settings, images, log } = context;
  const { fakeSystems: systems } = settings;
  const fetchImage = (image: ImageRequest, options: InsertOptions) => probeImage(image, options, images);
  if (systems === null) return new FakeDriver({ fetchImage });
  const target = notificationTarget(context);
  let endNotifications = (): void => undefined;
  const driver = new FakeDriver({ fetchImage, machines: machinesOf(systems), onClose: () => endNotifications() });
  endNotifications = startNotifications(systems, driver, target, log);
  return driver;
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
