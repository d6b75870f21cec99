/** The hypervisor that the settings name: machines of libvirt, or in memory, or those of them that may be seen. */
import type { Log } from '@rackless/daemon/log.js';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';
import { settingsTable, type SettingKey, type Settings } from './config/settings.js';
import { allowSystems } from './drivers/allowed-systems.js';
import type { HypervisorDriver, InsertOptions } from './drivers/driver.js';
import { FakeDriver } from './drivers/fake/fake-driver.js';
import { probeImage } from './drivers/fake/probe-image.js';
import { createLibvirtDriver } from './drivers/libvirt/libvirt-driver.js';
import { startNotifications } from './fake-notifications.js';
import { machinesOf } from './fake-systems.js';
import type { ImageRequest } from './media/image.js';
import type { HostRules } from './media/image-hosts.js';
import type { NameLookup } from './name-lookup.js';

const GIB = 2 ** 30;

/** @param at makes the error for a setting that can not be used. @throws what that makes. */
export function createDriver(
  settings: Settings,
  lookup: NameLookup,
  log: Log,
  at: (key: SettingKey, sentence: string, cause: unknown) => Error,
): HypervisorDriver {
  const hosts = hostRules(settings, lookup);
  const driver = settings.fakeDriver
    ? createFakeDriver(settings, hosts, log, at)
    : createHostDriver(settings, hosts, log, at);
  return settings.allowedInstances === null ? driver : allowSystems(driver, settings.allowedInstances);
}

function hostRules(
  { vmediaAllowedHosts: allowed, virtualMediaIpFamily: family }: Settings,
  lookup: NameLookup,
): HostRules {
  return { allowed, ipFamily: family === null ? null : family === '4' ? 4 : 6, lookup };
}

function createFakeDriver(
  settings: Settings,
  hosts: HostRules,
  log: Log,
  at: (key: SettingKey, sentence: string, cause: unknown) => Error,
): HypervisorDriver {
  const { fakeSystems: systems, notificationUrl: url } = settings;
  const fetchImage = (image: ImageRequest, options: InsertOptions) => probeImage(image, options, hosts);
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
  imageHosts: HostRules,
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
      maxImageBytes: Math.floor(settings.vmediaMaxImageGib * GIB),
      imageHosts,
      imageCaFile: settings.vmediaCaFile,
      imageConnectTimeoutMs: settings.vmediaConnectTimeoutSeconds * 1000,
      imageIdleTimeoutMs: settings.vmediaIdleTimeoutSeconds * 1000,
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
