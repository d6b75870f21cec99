/**
 * The boot modes of servers by the properties of their images. Glance and Cinder know them. A reader of
 * one server waits for them. Readers of many servers get the modes that are known already, because a
 * listing must not cost a request for each server.
 */
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { Server } from '../compute/server.js';
import { within } from '../http/patience.js';
import { firmwareTypeOf } from './image-firmware.js';
import type { Images } from './image-properties.js';

/** The fields of a server that name its image. */
type ServerImage = Parameters<Images['propertiesOf']>[0];

/** Finds boot modes. */
interface BootModes {
  /**
   * Returns the mode of a server; null: unknown. It never throws.
   * @param options.ask whether to ask for it. Default: no.
   */
  of(server: ServerImage, options: { readonly ask: boolean }): Promise<FirmwareType | null>;
}

/** Readers do not wait for the timeout of a request. */
const PATIENCE_MS = 5000;
/** After a wait without an answer, readers do not wait again for this time. */
const PAUSE_MS = 10_000;
const MAX_SERVERS = 10_000;

/** Creates the finder. It makes no request before it is used. */
export function createBootModes(images: Images): BootModes {
  /** By server and image: a rebuild gives a server another image. */
  const known = new Map<string, FirmwareType | null>();
  let silentUntil = -Infinity;
  const read = async (key: string, server: ServerImage): Promise<void> => {
    const type = firmwareTypeOf(await images.propertiesOf(server));
    known.delete(key);
    known.set(key, type);
    const [oldest] = known.keys();
    if (known.size > MAX_SERVERS && oldest !== undefined) known.delete(oldest);
  };
  return {
    of: async (server, { ask }) => {
      const key = keyOf(server);
      if (ask && performance.now() >= silentUntil) {
        const asked = read(key, server).then(
          () => true,
          () => false,
        );
        if ((await within(PATIENCE_MS, asked)) === undefined) silentUntil = performance.now() + PAUSE_MS;
      }
      return known.get(key) ?? null;
    },
  };
}

const keyOf = ({ id, imageId }: Pick<Server, 'id' | 'imageId'>): string => `${id} ${imageId ?? ''}`;
