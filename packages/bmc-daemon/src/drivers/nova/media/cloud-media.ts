/** Creates the parts for virtual media and boot settings, and connects them. */
import { setMaxListeners } from 'node:events';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ImageServerLimits } from '../../../media/image-client.js';
import type { HypervisorDriver } from '../../driver.js';
import { MachineQueue, type SharedQueues } from '../../queue/machine-queue.js';
import { CloudError } from '../cloud/cloud-error.js';
import type { CloudSettings } from '../cloud/cloud-settings.js';
import type { ComputeApi } from '../compute/compute-api.js';
import type { ServerList } from '../compute/server-list.js';
import { StatePolls } from '../compute/state-polls.js';
import { createImageApi } from '../image/image-api.js';
import { ImageLeases } from '../image/image-leases.js';
import { createNetworkImage } from '../image/network-image.js';
import { CloudImageStore } from '../image/image-store.js';
import type { IgnoredLog } from '../http/answer-forms.js';
import type { CloudSession } from '../http/session.js';
import { readServer } from '../power-control.js';
import { createEditParts } from './edit-parts.js';
import { createMediaControl } from './media-control.js';
import { createMediaView, type MediaView } from './media-view.js';
import { RescueBoot } from './rescue-boot.js';
import { createServerItems } from './server-items.js';
import { MAX_DAEMON } from './server-state.js';
import type { StateStore } from './state-store.js';
import { createCompletion } from './unfinished-work.js';

/** Settings of virtual media. */
export interface CloudMediaSettings {
  /** Limits for downloads of images. */
  readonly limits: ImageServerLimits;
  /** Bus of the CD drive from which Nova boots an image. */
  readonly bus: string;
  /** Whether Glance fetches images itself. */
  readonly fetchedByGlance: boolean;
  /**
   * Id or name of the image that boots a server from the network; null: servers cannot boot from
   * the network.
   */
  readonly networkImage: string | null;
  /** The queues that all replicas share. Default: queues of this process. */
  readonly queues?: SharedQueues;
  /**
   * Identifies this daemon. The text stays the same after a restart, and no other daemon has it.
   */
  readonly daemon: string;
}

/** Dependencies of the parts. */
interface CloudMediaOptions extends CloudMediaSettings {
  readonly cloud: CloudSettings;
  readonly session: CloudSession;
  readonly ignoredLog: IgnoredLog;
  readonly api: ComputeApi;
  readonly list: ServerList;
  /** Returns the UUID of a server. */
  readonly uuidOf: (id: string) => Promise<string>;
  /** Data up to this age counts as current. */
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
    Pick<MediaView, 'withMedia'> {
  /**
   * Completes the unfinished operations of killed daemons. Call it after each listing. It never
   * throws.
   */
  completeUnfinished(): Promise<void>;
}

/** Creates the parts, which do not connect to the cloud yet. */
export function createCloudMedia(options: CloudMediaOptions): CloudMedia {
  const { cloud, session, ignoredLog, api, list, uuidOf, freshMs, closing, log } = options;
  const { limits, bus, fetchedByGlance, networkImage, queues, daemon } = options;
  const images = createImageApi(session, ignoredLog);
  const leases = new ImageLeases(images, { daemon, log });
  const network = createNetworkImage(session, networkImage);
  const view = createMediaView(images, { freshMs, bootsNetwork: networkImage !== null });
  const onWritten = (dropped: boolean): void => {
    view.refresh();
    if (dropped) store.sweepSoon();
  };
  const region = cloud.region ?? '';
  const partsOf = createEditParts({ items: createServerItems(session), api, images, list, region, onWritten });
  const { states } = partsOf();
  const imagesInUse = (known: Parameters<StateStore['imagesInUse']>[0]) => states.imagesInUse(known);
  const store = new CloudImageStore({ api: images, leases, limits, bus, fetchedByGlance, region, imagesInUse, log });
  const queue = new MachineQueue(queues);
  setMaxListeners(0, closing);
  const find = async (id: string) => {
    const uuid = await uuidOf(id);
    const known = list.find(uuid)?.server ?? (await readServer(uuid, { api, list }));
    return { uuid, name: known.name };
  };
  const read = (id: string) => readServer(id, { api, list });
  const polls = new StatePolls(list);
  const parts = { api, list, polls, closing, queue, states, partsOf, find, read, log };
  const boot = new RescueBoot({
    ...parts,
    daemon: daemon.slice(0, MAX_DAEMON),
    networkImage: () => network.find(),
  });
  const offersImages = () => session.offers('image');
  // The store retries a failed sweep itself, so a failure must not delay the other work.
  const sweep = async (): Promise<void> => {
    if (await offersImages()) store.sweepSoon();
  };

  const begin = async (): Promise<void> => {
    try {
      await sweep();
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      // A retry does not help, and the unfinished operations need no images.
      log.warn(`clients cannot insert images: ${error.message}`);
    }
    await network.check(log);
  };
  const completeUnfinished = createCompletion({
    list,
    begin,
    complete: (id, which) => boot.complete(id, which),
    sweep,
    log,
  });
  list.onChange(({ kind }) => {
    // The deleted server may have been the last user of an image.
    if (kind === 'undefined') void sweep().catch(() => undefined);
  });
  return {
    media: createMediaControl({ queue, partsOf, store, images, find, read, offersImages }),
    changeable: new Set(['boot', 'assetTag']),
    change: (id, change) => boot.change(id, change),
    power: (id, action, power = {}) => boot.power(id, action, power),
    withMedia: (snapshot, server) => view.withMedia(snapshot, server),
    completeUnfinished,
    close: async () => {
      await Promise.all([queue.close(), store.close()]);
      leases.close();
    },
  };
}
