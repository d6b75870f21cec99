/**
 * The boot modes of servers: BIOS or UEFI. They depend on the properties of images, which Glance and Cinder know.
 * A reader of one server waits for these properties. Readers of many servers get only modes that
 * are known already, because a listing must not cost one request for each server.
 */
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { Server } from '../compute/server.js';
import { firmwareTypeOf } from './image-firmware.js';
import type { ImagePropertyReader } from './image-properties.js';

/** The fields of a server that name its image. */
type ServerImage = Parameters<ImagePropertyReader['propertiesOf']>[0];

/** Access to boot modes. */
interface BootModes {
  /**
   * Returns the mode of a server; null: unknown. Never rejects.
   * @param options.readsImage whether to read the properties of the image first, also if the mode is
   *   known. {@link ImagePropertyReader} caches them.
   */
  of(server: ServerImage, options: { readonly readsImage: boolean }): Promise<FirmwareType | null>;
}

/** Maximum wait of a reader. The timeout of a request would be too long. */
const TIMEOUT_MS = 5000;
/** If a reader has waited for {@link TIMEOUT_MS} without an answer, no reader waits during this time. */
const PAUSE_MS = 10_000;
/** Maximum number of stored modes. */
const MAX_SERVERS = 10_000;

/** Creates the access to boot modes. Makes no request before its first use. */
export function createBootModes(images: ImagePropertyReader): BootModes {
  /** The key contains the server and the image, because a rebuild gives a server another image. */
  const known = new Map<string, FirmwareType | null>();
  let silentUntil = -Infinity;
  const read = async (key: string, server: ServerImage): Promise<void> => {
    const mode = firmwareTypeOf(await images.propertiesOf(server));
    known.delete(key);
    known.set(key, mode);
    const [oldest] = known.keys();
    if (known.size > MAX_SERVERS && oldest !== undefined) known.delete(oldest);
  };
  return {
    of: async (server, { readsImage }) => {
      const key = keyOf(server);
      if (readsImage && performance.now() >= silentUntil) {
        const asked = read(key, server).then(
          () => true,
          () => false,
        );
        if ((await withDeadline(asked, TIMEOUT_MS, () => 'late')) === 'late')
          silentUntil = performance.now() + PAUSE_MS;
      }
      return known.get(key) ?? null;
    },
  };
}

const keyOf = ({ id, imageId }: Pick<Server, 'id' | 'imageId'>): string => `${id} ${imageId ?? ''}`;
