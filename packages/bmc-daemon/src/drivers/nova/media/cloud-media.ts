/** Creates the parts for virtual media and boot settings, and connects them. */
import { setMaxListeners } from 'node:events';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ImageServerLimits } from '../../../media/image-server.js';
import type { HypervisorDriver } from '../../driver.js';
import { MachineQueue } from '../../queue/machine-queue.js';
import type { CloudSettings } from '../cloud/cloud-settings.js';
import type { ComputeApi } from '../compute/compute-api.js';
import type { ServerList } from '../compute/server-list.js';
import { createImageApi } from '../image/image-api.js';
import { ImageLeases } from '../image/image-leases.js';
import { CloudImageStore } from '../image/image-store.js';
import type { CloudSession } from '../http/session.js';
import { readServer } from '../power-control.js';
import { createMediaControl } from './media-control.js';
import { createMediaView, type MediaView } from './media-view.js';
import { RescueBoot } from './rescue-boot.js';
import { createServerItems } from './server-items.js';
import { StateStore, storedState } from './state-store.js';

/** Settings of virtual media. */
export interface CloudMediaSettings {
  /** Limits for downloads of images. */
  readonly limits: ImageServerLimits;
  /** Bus of the CD drive in which Nova boots an image. */
  readonly bus: string;
  /** Whether Glance fetches images itself. */
  readonly fetchedByGlance: boolean;
  /** Identifies this daemon: the same after a restart, and different for every other one. */
  readonly daemon: string;
}

/** Dependencies of the parts. */
interface CloudMediaOptions extends CloudMediaSettings {
  readonly cloud: CloudSettings;
  readonly session: CloudSession;
  readonly api: ComputeApi;
  readonly list: ServerList;
  /** Returns the UUID of a server. */
  readonly uuidOf: (id: string) => Promise<string>;
  /** A reading of this age needs no other one. */
  readonly freshMs: number;
  /** Aborts when the driver closes. */
  readonly closing: AbortSignal;
  readonly log: Log;
}

/** Virtual media, the boot settings and the power of the servers of a cloud. */
interface CloudMedia
  extends
    Required<Pick<HypervisorDriver, 'media'>>,
    Pick<HypervisorDriver, 'change' | 'changeable' | 'power' | 'close'>,
    Pick<MediaView, 'complete'> {
  /** Completes what a daemon that was killed has left behind. Call it after each listing; it never throws. */
  tend(): Promise<void>;
}

/**
 * A mark of a boot that is as old as this, without a boot, belongs to a daemon that was killed. Another
 * daemon may be about to boot the server.
 */
const ABANDONED_MS = 60_000;

/** Creates the parts. */
export function createCloudMedia(options: CloudMediaOptions): CloudMedia {
  const { cloud, session, api, list, uuidOf, freshMs, closing, log, limits, bus, fetchedByGlance, daemon } = options;
  const images = createImageApi(session);
  const leases = new ImageLeases(images, { daemon, log });
  const view = createMediaView(images, { freshMs });
  const onWritten = (dropped: boolean): void => {
    view.refresh();
    if (dropped) void store.sweep();
  };
  const states = new StateStore({ items: createServerItems(session), api, images, list, onWritten });
  const imagesInUse = (known: Parameters<StateStore['imagesInUse']>[0]) => states.imagesInUse(known);
  const region = cloud.region ?? '';
  const store = new CloudImageStore({ api: images, leases, limits, bus, fetchedByGlance, region, imagesInUse, log });
  const queue = new MachineQueue();
  setMaxListeners(0, closing);
  const find = async (id: string) => {
    const uuid = await uuidOf(id);
    const known = list.find(uuid)?.server ?? (await readServer(uuid, { api, list }));
    return { uuid, name: known.name };
  };
  const read = (id: string) => readServer(id, { api, list });
  const boot = new RescueBoot({ api, list, closing, queue, states, find, read, log });
  const offersImages = () => session.offers('image');
  const sweep = async (): Promise<void> => {
    if (await offersImages()) await store.sweep();
  };

  let isSwept = false;
  const markedAt = new Map<string, { readonly mark: string; readonly at: number }>();
  const tend = async (): Promise<void> => {
    if (!isSwept) await sweep();
    isSwept = true;
    const marked = list.servers.filter((server) => storedState(server).bootedAfter !== undefined);
    const ids = new Set(marked.map(({ id }) => id));
    for (const id of markedAt.keys()) if (!ids.has(id)) markedAt.delete(id);
    for (const server of marked) {
      const { id, vmState, task } = server;
      const mark = storedState(server).bootedAfter ?? '';
      const known = markedAt.get(id);
      if (known?.mark !== mark || vmState === 'rescued' || task !== null) {
        markedAt.set(id, { mark, at: performance.now() });
      } else if (performance.now() - known.at > ABANDONED_MS) {
        markedAt.delete(id);
        await boot.settle(id);
        await sweep();
      }
    }
  };
  list.onChange(({ kind }) => {
    // A deleted server may have been the last one that used an image.
    if (kind === 'undefined') void sweep().catch(() => undefined);
  });
  return {
    media: createMediaControl({ queue, states, store, images, find, read, offersImages }),
    changeable: new Set(['boot']),
    change: async (id, { boot: change }) => {
      if (change !== undefined) await boot.change(id, change);
    },
    power: (id, action, power = {}) => boot.power(id, action, power),
    complete: (snapshot, server) => view.complete(snapshot, server),
    tend: () => tend().catch((error: unknown) => log.debug('tending virtual media failed', { error })),
    close: async () => {
      await Promise.all([queue.close(), store.close()]);
      leases.close();
    },
  };
}
