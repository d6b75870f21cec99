/** Virtual media of servers. The images are in Glance, and Nova boots them in rescue mode. */
import { storedUrl, type ImageRequest } from '../../../media/image.js';
import { ImageError } from '../../../media/image-error.js';
import { DriverError } from '../../driver-error.js';
import type { MediaControl } from '../../media-control.js';
import { mediaFailure } from '../../media-failure.js';
import type { InsertOptions } from '../../operation-options.js';
import type { MachineQueue } from '../../queue/machine-queue.js';
import type { TurnCheck } from '../../queue/operation-queue.js';
import type { MediaDevice } from '../../snapshot/media-snapshot.js';
import type { SystemRef } from '../../snapshot/system-snapshot.js';
import type { Server } from '../compute/server.js';
import type { ImageApi } from '../image/image-api.js';
import type { CloudImageStore } from '../image/image-store.js';
import type { EditParts } from './edit-parts.js';
import type { ServerState } from './server-state.js';

/** Dependencies of the control. */
interface CloudMediaOptions {
  readonly queue: MachineQueue;
  readonly partsOf: (check?: TurnCheck) => EditParts;
  readonly store: CloudImageStore;
  readonly images: Pick<ImageApi, 'get'>;
  /** Finds a server by UUID or name. */
  readonly find: (id: string) => Promise<SystemRef>;
  /** Reads a server. */
  readonly read: (id: string) => Promise<Server>;
  /** Returns whether the cloud has an image service. */
  readonly offersImages: () => Promise<boolean>;
}

/**
 * Maximum number of attempts to insert an image, if another daemon deletes the image during each
 * attempt.
 */
const MAX_ATTEMPTS = 3;

/** Creates the control. */
export function createMediaControl({
  queue,
  partsOf,
  store,
  images,
  find,
  read,
  offersImages,
}: CloudMediaOptions): MediaControl {
  /** Changes the state of a server. @returns whether it was changed. */
  const edit = (id: string, change: (state: ServerState, server: Server) => Promise<ServerState>): Promise<boolean> =>
    queue.edit(id, async (check) => {
      const { states } = partsOf(check);
      const server = await read(id);
      const state = await states.settle(server);
      const changed = await change(state, server);
      if (changed !== state) await states.write(server, changed);
      return changed !== state;
    });
  const insert = async (
    id: string,
    image: ImageRequest,
    { checkTurn, ...options }: InsertOptions & { readonly checkTurn: TurnCheck | undefined },
  ): Promise<void> => {
    const server = await read(id);
    if (!(await offersImages())) {
      const why = 'the cloud has no image service';
      throw new DriverError('unsupported', `inserting an image into machine ${server.name}: ${why}`);
    }
    if (!(await needsImage(images, (await partsOf().states.read(server)).state, { image, server }))) return;
    for (let attempt = 1; ; attempt += 1) {
      const lease = await store.acquire(image, options);
      let isInserted = false;
      try {
        isInserted = await edit(id, async (state, current) => {
          if (!(await needsImage(images, state, { image, server: current }))) return state;
          await checkTurn?.();
          return { ...state, cd: lease.id };
        });
        // A daemon that did not see the lease in time may have deleted the image. The next attempt then stores it
        // again.
        if ((await images.get(lease.id)) !== undefined) return;
        if (attempt === MAX_ATTEMPTS) throw deletedImageError(server);
      } finally {
        lease.release();
        // The drive does not use this image. The sweep deletes it unless another server uses it.
        if (!isInserted) store.sweepSoon();
      }
    }
  };
  return {
    insert: async (id, device, image, options = {}) => {
      checkDevice(device);
      const { uuid, name } = await find(id);
      const run = (signal: AbortSignal, checkTurn?: TurnCheck) =>
        toDriverErrors(insert(uuid, image, { ...options, signal, checkTurn }));
      await queue.insert({ uuid, name }, device, run, options);
    },
    eject: async (id, device, options = {}) => {
      checkDevice(device);
      const { uuid, name } = await find(id);
      const eject = async (): Promise<void> => {
        await edit(uuid, (state) => Promise.resolve(state.cd === null ? state : { ...state, cd: null }));
        await store.sweep();
      };
      await queue.eject({ uuid, name }, device, eject, options);
    },
    set: async (id, device, change) => {
      checkDevice(device);
      const { uuid, name } = await find(id);
      await edit(uuid, (state) => Promise.resolve(withSettings(state, change, name)));
    },
  };
}

/** Returns the state after a change of the drive's settings. @throws {DriverError} unsupported, for a certificate. */
function withSettings(state: ServerState, change: Parameters<MediaControl['set']>[2], name: string): ServerState {
  const { verifyCertificate, certificates } = change({ verifyCertificate: state.verifyCertificate, certificates: [] });
  if (certificates.length === 0) return { ...state, verifyCertificate };
  const why = 'Nova has no place for a certificate; EMULATOR_VMEDIA_CA_FILE names authorities for all images';
  throw new DriverError('unsupported', `storing a certificate for machine ${name}: ${why}`);
}

/** Rejects drives other than the CD drive. @throws {DriverError} unsupported. */
function checkDevice(device: MediaDevice): void {
  if (device === 'cdrom') return;
  throw new DriverError('unsupported', `changing the drive ${device}: the servers of a cloud have a CD drive only`);
}

/**
 * Returns whether the drive needs the image; false if the drive has the image of this URL.
 * @throws {DriverError} mediaInUse, if the drive has another image.
 */
async function needsImage(
  images: CloudMediaOptions['images'],
  { cd }: ServerState,
  { image, server }: { readonly image: ImageRequest; readonly server: Server },
): Promise<boolean> {
  if (cd === null) return true;
  const current = await images.get(cd);
  if (current === undefined) return true;
  if (current.url === storedUrl(image.url)) return false;
  throw new DriverError('mediaInUse', `inserting an image into machine ${server.name}: its drive holds another image`);
}

function deletedImageError({ name }: Server): DriverError {
  const why = `its image in Glance was deleted ${MAX_ATTEMPTS} times meanwhile`;
  return new DriverError('unavailable', `inserting an image into machine ${name}: ${why}`);
}

async function toDriverErrors<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof ImageError ? mediaFailure(error) : error;
  }
}
