/** Creates the parts of the libvirt driver, and connects them with each other. */
import { Hypervisor } from '@rackless/libvirt';
import { DriverError } from '../driver-error.js';
import { MachineQueue } from '../queue/machine-queue.js';
import { BootControl } from './boot/boot-control.js';
import { ChangeFeed } from './read/change-feed.js';
import { CurrentReadings } from './read/current-readings.js';
import { ColdStart } from './power/cold-start.js';
import { FirmwareChooser } from './firmware/firmware-choice.js';
import { localFiles, remoteFiles, removeLeftoverPools } from './host-files.js';
import { hostNameOf, isOnThisHost } from './connection-uri.js';
import { GuestNetworkReader } from './read/guest-network.js';
import type { Host } from './machine/host.js';
import { HostCpu } from './read/host-cpu.js';
import { HostReader } from './read/host-reader.js';
import { openPool } from './media/open-pool.js';
import { openImageVolumes } from './media/image-volumes.js';
import { ImageStore } from './media/image-store.js';
import { ImageStreams } from './media/image-stream.js';
import { Inventory } from './machine/inventory.js';
import type { LibvirtDriverOptions } from './libvirt-driver-options.js';
import { LibvirtMedia } from './media/libvirt-media.js';
import { Variables } from './firmware/nvram.js';
import { PendingSettings } from './firmware/pending-settings.js';
import { PowerControl } from './power/power-control.js';
import { applyAllDrives } from './media/guest-media.js';
import { sourcesInUse } from './media/sources-in-use.js';
import { SystemChanges } from './change/system-changes.js';
import { SystemReader } from './read/system-reader.js';
import { Reconciler } from './machine/reconciler.js';
import { BackgroundWork } from '../queue/background-work.js';
import { LibvirtVolumes } from './volumes/volume-control.js';

/** Starts to connect to the host, and creates its readers. @throws {LibvirtError} INVALID_URI. */
function openHost(options: LibvirtDriverOptions) {
  const { uri, timeoutMs, log, hostName = hostNameOf(uri) } = options;
  const hypervisor = Hypervisor.connect(uri, {
    callTimeoutMs: timeoutMs,
    onWarning: (error) => log.warn('warning of the libvirt connection', { error }),
  });
  const inventory = new Inventory(hypervisor, timeoutMs, hostName);
  const current = new CurrentReadings();
  const queue = new MachineQueue();
  queue.onEdited((uuid) => current.forget(uuid));
  const files = isOnThisHost(uri) ? localFiles : remoteFiles(hypervisor, timeoutMs);
  const host: Host = { hypervisor, inventory, queue, log, timeoutMs, files };
  const templates = options.secureBootTemplates ?? { enabled: null, disabled: null };
  const firmware = new FirmwareChooser({
    bootLoaderMap: options.bootLoaderMap,
    templates,
    hypervisor,
    timeoutMs,
    files,
  });
  const hostCpu = new HostCpu(hypervisor);
  const streams = new ImageStreams(options.images, files);
  const reader = new SystemReader({
    inventory,
    timeoutMs,
    diskSizeWaitMs: options.diskSizeWaitMs ?? 1_000,
    catalog: () => firmware.catalog(),
    hostCpuModel: () => hostCpu.model(),
    streams: () => streams.isOffered,
    current,
  });
  const hosts = new HostReader({ name: hostName, uri, host });
  return { host, hosts, firmware, streams, reader };
}

/** Creates the stores of images and disks. They open their pools when they need them. */
function openStorage(host: Host, options: LibvirtDriverOptions) {
  const { uri, storagePool: name, images: limits, pools, log, timeoutMs } = options;
  const { hypervisor } = host;
  const open = (create: boolean) => openPool({ hypervisor, uri, name, create, timeoutMs, pools });
  const store = new ImageStore({
    openImageVolumes: async ({ create }) => {
      const pool = await open(create);
      return pool === null ? null : openImageVolumes(pool, timeoutMs);
    },
    sourcesInUse: () => sourcesInUse(host),
    limits,
    pools,
    warn: (message, error) => log.warn(message, { error }),
  });
  const disks = new LibvirtVolumes({
    host,
    openPool: async () => {
      const opened = await open(true);
      if (opened === null) throw new DriverError('unsupported', 'opening the storage pool: there is none');
      return opened.pool;
    },
  });
  return { store, disks };
}

type Opened = ReturnType<typeof openHost> & ReturnType<typeof openStorage>;

/** Creates the parts for boot overrides, UEFI variables and power. */
function createPower({ host, firmware, store }: Opened, options: LibvirtDriverOptions) {
  const boot = new BootControl({ host });
  const pending = new PendingSettings({
    host,
    firmware,
    now: () => new Date(),
  });
  const variables = new Variables({ host, uri: options.uri, catalog: () => firmware.catalog() });
  const coldStart = new ColdStart(host, {
    applySettings: (machine, xml) => pending.apply(machine, xml),
    recreateVariables: (machine, xml) => variables.recreate(machine, xml),
    catchUp: async (machine) => {
      await applyAllDrives(host, machine);
      // The images of the saved state may now be unused.
      void store.removeUnused();
      await boot.applyOrder(machine).catch((error: unknown) => {
        host.log.warn(`setting the boot order of machine ${machine.name} failed`, { error });
      });
    },
  });
  const { gracefulRestartWaitMs } = options;
  const power = new PowerControl({ host, boot, coldStart, gracefulRestartWaitMs });
  return { boot, variables, coldStart, power };
}

/** The parts of a driver. */
export type LibvirtParts = ReturnType<typeof createParts>;

/**
 * Creates the parts of a driver. The connection to the host opens in the background. The driver starts and closes
 * the parts.
 * @throws {LibvirtError} INVALID_URI.
 */
export function createParts(options: LibvirtDriverOptions) {
  const opened = openHost(options);
  const { host, hosts, firmware, reader, streams } = opened;
  const storage = openStorage(host, options);
  const { store, disks } = storage;
  const { boot, variables, coldStart, power } = createPower({ ...opened, ...storage }, options);
  const changes = new ChangeFeed({
    host,
    isStarting: (uuid) => coldStart.isStarting(uuid),
    onEvent: (uuid) => reader.current.forget(uuid),
  });
  const media = new LibvirtMedia({ host, reader, boot, store, streams });
  const removeUnusedImages = (): Promise<void> => store.removeUnused();
  const systemChanges = new SystemChanges({ host, reader, boot, media, firmware, variables, removeUnusedImages });
  const reconciler = new Reconciler({
    host,
    hostTasks: [
      { doing: 'looking for changes that happened without a connection', run: () => changes.catchUp() },
      { doing: 'tidying the image store', run: () => store.tidy() },
      { doing: 'removing leftover pools', run: () => removeLeftoverPools(host.hypervisor, host.timeoutMs) },
    ],
    machineParts: [systemChanges, variables, coldStart, boot, power, disks],
    read: async (machine) => {
      // A client may have read the machine meanwhile.
      const snapshot = reader.current.snapshotOf(machine.uuid) ?? (await reader.read(machine));
      options.onReadAhead?.(snapshot);
    },
    backgroundWork: options.backgroundWork ?? new BackgroundWork(),
    isServed: options.isServed ?? (() => true),
  });
  const guestNetwork = new GuestNetworkReader(host);
  const reading = { host, hosts, firmware, reader, streams, changes, guestNetwork };
  return { ...reading, store, disks, boot, coldStart, power, media, systemChanges, reconciler };
}
