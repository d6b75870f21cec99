/** The machines of one or several libvirt hosts: EMULATOR_LIBVIRT_URI. */
import type { Log } from '@rackless/daemon/log/log.js';
import { defaultStateDir } from '../config/state-folder.js';
import { isAmong } from '../drivers/allowed-systems.js';
import type { HypervisorDriver } from '../drivers/driver.js';
import { createHostsDriver } from '../drivers/hosts/hosts-driver.js';
import { openHostStore } from '../drivers/hosts/host-store.js';
import { hostsOf } from '../drivers/libvirt/host-list.js';
import { createLibvirtDriver, type LibvirtDriverOptions } from '../drivers/libvirt/libvirt-driver.js';
import { SharedPools } from '../drivers/libvirt/media/shared-pools.js';
import { BackgroundWork } from '../drivers/queue/background-work.js';
import { StateFileError } from '../state-file.js';
import type { DriverContext, OpenedDriver } from './driver-context.js';

/**
 * Creates the driver of the libvirt hosts, which the daemon uses if the settings select no other
 * driver.
 * @throws the error of `settingError` if the state folder or the URI cannot be used.
 */
export function libvirt(context: DriverContext): OpenedDriver {
  const { settings, environment, log } = context;
  const { libvirtUri: uris } = settings;
  try {
    if (typeof uris === 'string') return { driver: openHost(context, { uri: uris, log }) };
    const stateDir = settings.stateDir ?? defaultStateDir(environment, process.getuid?.());
    const pools = new SharedPools();
    const backgroundWork = new BackgroundWork();
    const { driver, setHosts } = createHostsDriver({
      hosts: hostsOf(uris),
      open: ({ name, uri }, onReadAhead) =>
        openHost(context, {
          ...{ uri, hostName: name, pools, backgroundWork, onReadAhead },
          log: prefixed(log, `host ${name}: `),
        }),
      backgroundWork,
      store: openHostStore(stateDir, log),
      log,
    });
    return { driver, setHosts: (next) => setHosts(hostsOf(next)) };
  } catch (error) {
    if (error instanceof StateFileError) throw context.settingError('stateDir', error.message, error);
    // The driver does not connect yet, so only the URI can be wrong.
    const why = error instanceof Error ? error.message : String(error);
    throw context.settingError('libvirtUri', `EMULATOR_LIBVIRT_URI cannot be used: ${why}`, error);
  }
}

/** Creates the driver of one host. The driver connects when it is started. @throws {LibvirtError} INVALID_URI. */
function openHost(
  { settings, images }: DriverContext,
  host: Pick<LibvirtDriverOptions, 'uri' | 'hostName' | 'pools' | 'backgroundWork' | 'onReadAhead' | 'log'>,
): HypervisorDriver {
  return createLibvirtDriver({
    ...host,
    bootLoaderMap: { efi: settings.bootLoaderMap.UEFI ?? {}, bios: settings.bootLoaderMap.Legacy ?? {} },
    secureBootTemplates: { enabled: settings.secureBootEnabledNvram, disabled: settings.secureBootDisabledNvram },
    storagePool: settings.storagePool,
    gracefulRestartWaitMs: settings.gracefulRestartWaitSeconds * 1000,
    timeoutMs: settings.libvirtTimeoutSeconds * 1000,
    images,
    ...(settings.allowedInstances === null ? {} : { isServed: isAmong(settings.allowedInstances) }),
  });
}

/** Returns a log whose messages begin with the name of their host. */
function prefixed(log: Log, prefix: string): LibvirtDriverOptions['log'] {
  return {
    info: (message, fields) => log.info(prefix + message, fields),
    warn: (message, fields) => log.warn(prefix + message, fields),
    debug: (message, fields) => log.debug(prefix + message, fields),
  };
}
