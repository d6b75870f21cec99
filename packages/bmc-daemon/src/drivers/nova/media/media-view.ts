/** The drive and the boot settings of a server, as members of its snapshot. */
import { withDeadline } from '@rackless/daemon/deadline.js';
import { imageName } from '../../../media/image.js';
import type { SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { Server } from '../compute/server.js';
import type { CloudImage, ImageApi } from '../image/image-api.js';
import { changesImageId, knownState, storedState } from './stored-state.js';

/** Adds the drive and the boot settings to snapshots. */
export interface MediaView {
  /** Returns the snapshot with drive and boot settings; the same object until they change. */
  withMedia(snapshot: SystemSnapshot, server: Server): Promise<SystemSnapshot>;
  /** Makes the next reader list the images again. */
  refresh(): void;
}

/**
 * Delay after a failed listing of the images. During this time, readers get the data of the last
 * successful listing.
 */
const RETRY_MS = 10_000;
/** Maximum wait of a reader. The timeout of a request would be too long. */
const TIMEOUT_MS = 5000;

/** Tells clients why they cannot change boot settings other than the override. */
const FIXED = 'Nova fixes the boot order, the boot mode and Secure Boot when it creates the server.';
const NO_NETWORK = `${FIXED} A boot from the network needs EMULATOR_OS_IPXE_IMAGE.`;

/** Options of {@link createMediaView}. */
interface MediaViewOptions {
  /** A listing up to this age counts as current. */
  readonly freshMs: number;
  /** Whether servers can boot from the network. */
  readonly bootsNetwork: boolean;
}

/**
 * Creates the view. Readers share one listing of the images. For a server that uses no image, the view
 * makes no listing.
 */
export function createMediaView(api: Pick<ImageApi, 'list'>, { freshMs, bootsNetwork }: MediaViewOptions): MediaView {
  let images: ReadonlyMap<string, CloudImage> | undefined;
  let listing: Promise<void> | undefined;
  /** Number of changes. The view ignores a listing that began before the last change. */
  let changes = 0;
  let nextAt = -Infinity;
  const list = async (): Promise<void> => {
    const before = changes;
    nextAt = performance.now() + freshMs;
    try {
      const listed = await api.list();
      if (before === changes) images = new Map(listed.map((image) => [image.id, image]));
    } catch {
      // Clients must be able to read a server while Glance is down. Only operations report the
      // failure.
      if (before === changes) nextAt = performance.now() + RETRY_MS;
    } finally {
      if (before === changes) listing = undefined;
    }
  };
  const refresh = async (): Promise<void> => {
    if (listing === undefined && performance.now() >= nextAt) listing = list();
    if (listing !== undefined) await withDeadline(listing, TIMEOUT_MS, () => undefined);
  };
  const completed = new WeakMap<SystemSnapshot, { readonly key: string; readonly result: SystemSnapshot }>();
  return {
    withMedia: async (snapshot, server) => {
      if (changesImageId(server) !== undefined) await refresh();
      const parts = partsOf(server, images, { bootsNetwork });
      const key = JSON.stringify(parts);
      const before = completed.get(snapshot);
      if (before?.key === key) return before.result;
      const result = { ...snapshot, ...parts };
      completed.set(snapshot, { key, result });
      return result;
    },
    refresh: () => {
      changes += 1;
      listing = undefined;
      nextAt = -Infinity;
    },
  };
}

/**
 * Returns the members for the snapshot.
 * @param images undefined: no listing has succeeded yet, or none was needed.
 */
function partsOf(
  server: Server,
  images: ReadonlyMap<string, CloudImage> | undefined,
  { bootsNetwork }: Pick<MediaViewOptions, 'bootsNetwork'>,
): Required<Pick<SystemSnapshot, 'media' | 'boot' | 'assetTag'>> {
  const { cd: storedCd } = storedState(server);
  const { state } = knownState(server, images?.get(changesImageId(server) ?? ''));
  const cd = images === undefined ? storedCd : state.cd;
  const url = cd === null ? undefined : images?.get(cd)?.url;
  const parsed = url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
  return {
    assetTag: state.assetTag,
    media: [
      {
        device: 'cdrom',
        inserted: cd !== null,
        image: parsed === undefined ? null : (url ?? null),
        imageName: parsed === undefined ? null : imageName(parsed),
        writeProtected: true,
        viaUri: cd !== null,
        transferMethod: cd === null ? null : 'upload',
        transferMethods: ['upload'],
        verifyCertificate: state.verifyCertificate,
        certificates: [],
      },
    ],
    boot: {
      available: [...(bootsNetwork ? (['network'] as const) : []), 'cdrom', 'hd'],
      enabled: state.boot.enabled,
      target: state.boot.target,
      options: [],
      order: [],
      firmware: null,
      firstDevicePath: null,
      fixed: bootsNetwork ? FIXED : NO_NETWORK,
    },
  };
}
