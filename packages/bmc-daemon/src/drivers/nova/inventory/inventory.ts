/**
 * Details of servers that other services of the cloud know. The driver reads them only for clients
 * that request them.
 */
import { isDeepStrictEqual } from 'node:util';
import type { SystemDetails, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { Server } from '../compute/server.js';
import { shortLine } from '../http/plain-text.js';
import type { CloudSession } from '../http/session.js';
import { createVolumes, describeDisks } from './described-disks.js';
import { createBootModes } from './boot-modes.js';
import { imageFirmware } from './image-firmware.js';
import { createImagePropertyReader, type ImageProperties } from './image-properties.js';

/** Details that a client reads. */
interface WantedDetails {
  readonly shown: readonly (keyof SystemDetails)[];
  /** Whether the client reads only this server, and not a collection. */
  readonly isSingleRead: boolean;
}

/** Adds details of other services to snapshots. */
interface Inventory {
  /**
   * Returns a snapshot with all wanted details; the same object while the details do not change.
   * @throws as {@link CloudSession.request}.
   */
  withDetails(snapshot: SystemSnapshot, server: Server, wanted: WantedDetails): Promise<SystemSnapshot>;
}

/** The last result: `parts` are the details from other services, `result` is the snapshot with them. */
interface Completed {
  readonly parts: Partial<SystemSnapshot>;
  readonly result: SystemSnapshot;
}

/** Values that are the same for all servers. */
interface InventoryOptions {
  /** Architecture of servers whose image does not name one; empty: unknown. */
  readonly architecture: string;
  /** Whether servers have graphical consoles. */
  readonly hasGraphicalConsole: () => boolean;
  /** Whether clients can open the serial console of a server. */
  readonly hasConsole: (id: string) => boolean;
}

/** Creates the inventory of a cloud. */
export function createInventory(
  session: CloudSession,
  { architecture, hasGraphicalConsole, hasConsole }: InventoryOptions,
): Inventory {
  const volumes = createVolumes(session);
  const images = createImagePropertyReader(session, volumes);
  const modes = createBootModes(images);
  /** The last result for each snapshot and each set of details. */
  const completed = new WeakMap<SystemSnapshot, Map<string, Completed>>();

  const partsOf = async (
    { disks, firmware, state, boot }: SystemSnapshot,
    server: Server,
    { shown, isSingleRead }: WantedDetails,
  ): Promise<Partial<SystemSnapshot>> => ({
    ...(disks !== undefined && shown.includes('disks') ? { disks: await describeDisks(disks, volumes) } : {}),
    ...(firmware !== undefined && shown.includes('firmware')
      ? imageFirmware(firmware, { flavor: server.flavor, state }, await images.propertiesOf(server))
      : {}),
    ...(boot !== undefined && shown.includes('boot')
      ? { boot: { ...boot, firmware: await modes.of(server, { readsImage: isSingleRead }) } }
      : {}),
    // The number of processors is known without the image, so a failure of Glance or Cinder is ignored.
    ...(shown.includes('processors')
      ? architectureBy(await images.propertiesOf(server).catch(() => undefined), architecture)
      : {}),
    ...(hasGraphicalConsole() ? { hasGraphicalConsole: true as const } : {}),
    ...(hasConsole(server.id) ? { hasConsole: true as const } : {}),
  });
  return {
    withDetails: async (snapshot, server, wanted) => {
      const parts = await partsOf(snapshot, server, wanted);
      const key = Object.keys(parts).join();
      if (key === '') return snapshot;
      const known = completed.get(snapshot) ?? new Map<string, Completed>();
      completed.set(snapshot, known);
      const last = known.get(key);
      if (last !== undefined && isDeepStrictEqual(last.parts, parts)) return last.result;
      const result = { ...snapshot, ...parts };
      known.set(key, { parts, result });
      return result;
    },
  };
}

/**
 * Returns the architecture that the image names, or the given default. The property of the image
 * has a newer and an older name.
 */
function architectureBy(properties: ImageProperties | undefined, architecture: string): Partial<SystemDetails> {
  const named = shortLine(properties?.['hw_architecture'] ?? properties?.['architecture'] ?? '');
  const known = named === '' ? architecture : named;
  return known === '' ? {} : { architecture: known };
}
