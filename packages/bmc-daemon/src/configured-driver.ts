/** The hypervisor that the settings name: machines of libvirt, or in memory, or those of them that may be seen. */
import type { Log } from '@rackless/daemon/log.js';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';
import { settingsTable, type SettingKey, type Settings } from './config/settings.js';
import { allowSystems } from './drivers/allowed-systems.js';
import type { HypervisorDriver } from './drivers/driver.js';
import type { InsertOptions } from './drivers/operation-options.js';
import { FakeDriver } from './drivers/fake/fake-driver.js';
import { probeImage } from './drivers/fake/probe-image.js';
import { createLibvirtDriver } from './drivers/libvirt/libvirt-driver.js';
import { startNotifications } from './fake-notifications.js';
import { machinesOf } from './fake-systems.js';
import type { ImageRequest } from './media/image.js';
import type { ImageServerLimits } from './media/image-server.js';
import type { NameLookup } from './name-lookup.js';

const GIB = 2 ** 30;

/** @param at makes the error for a setting that can not be used. @throws what that makes. */
export function createDriver(
  settings: Settings,
  lookup: NameLookup,
  log: Log,
  at: (key: SettingKey, sentence: string, cause: unknown) => Error,
): HypervisorDriver {
  const images = imageLimits(settings, lookup);
  const driver = settings.fakeDriver
    ? createFakeDriver(settings, images, log, at)
    : createHostDriver(settings, images, log, at);
  return settings.allowedInstances === null ? driver : allowSystems(driver, settings.allowedInstances);
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

function createFakeDriver(
  settings: Settings,
  images: ImageServerLimits,
  log: Log,
  at: (key: SettingKey, sentence: string, cause: unknown) => Error,
): HypervisorDriver {
  const { fakeSystems: systems, notificationUrl: url } = settings;
  const fetchImage = (image: ImageRequest, options: InsertOptions) => probeImage(image, options, images);
  if (systems === null) return new FakeDriver({ fetchImage });
  const pem = (
    name: 'ca' | 'cert' | 'key',
    key: 'notificationCaFile' | 'notificationCertFile' | 'notificationKeyFile',
  ) => {
    const file = settings[key];
    if (file === null) return {};
    try {
      return { [name]: readTextFile(file) };
    } catch (error) {
      throw at(key, `${settingsTable[key].name} can not be used: ${file}: ${fileReason(error)}`, error);
    }
  };
  let endNotifications = (): void => undefined;
  const driver = new FakeDriver({ fetchImage, machines: machinesOf(systems), onClose: () => endNotifications() });
  const target = {
    url,
    ...pem('ca', 'notificationCaFile'),
    ...pem('cert', 'notificationCertFile'),
    ...pem('key', 'notificationKeyFile'),
  };
  endNotifications = startNotifications(systems, driver, target, log);
  return driver;
}

function createHostDriver(
  settings: Settings,
  images: ImageServerLimits,
  log: Log,
  at: (key: SettingKey, sentence: string, cause: unknown) => Error,
): HypervisorDriver {
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
    // It does not connect yet, so all that it can find fault with is the address.
    throw at(
      'libvirtUri',
      `EMULATOR_LIBVIRT_URI can not be used: ${error instanceof Error ? error.message : String(error)}`,
      error,
    );
  }
}
