/**
 * The image that boots a server from the network: EMULATOR_OS_IPXE_IMAGE. The operator creates and
 * deletes it.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { DriverError } from '../../driver-error.js';
import { CloudError } from '../cloud/cloud-error.js';
import { listOf } from '../http/answer-forms.js';
import { bodyOf, type CloudSession } from '../http/session.js';

/** The image for boots from the network. */
interface NetworkImage {
  /**
   * Returns the id of the image.
   * @throws {DriverError} conflict, if no image is configured, if Glance has none or several of them, if its status
   *   is not `active`, or if Nova would not boot it from a CD drive; as {@link CloudSession.request}.
   */
  find(): Promise<string>;
  /**
   * Logs a warning if an image is configured and servers cannot boot it. If Glance does not answer, logs only
   * at the level debug. Never rejects.
   */
  check(log: Pick<Log, 'warn' | 'debug'>): Promise<void>;
}

const imageSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  status: z.string(),
  hw_rescue_device: z.string().optional(),
});
const listSchema = z.object({ images: listOf(imageSchema) });

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Creates the reader of the image. It asks Glance before each boot, so the operator can replace the image at
 * any time.
 * @param wanted the id or the name of the image; null: none is configured.
 */
export function createNetworkImage(session: CloudSession, wanted: string | null): NetworkImage {
  const images = async (name: string): Promise<z.infer<typeof listSchema>['images']> => {
    if (!(await session.offers('image'))) return [];
    const get = (path: string, query = {}) => session.request({ service: 'image', method: 'GET', path, query });
    if (uuidPattern.test(name)) {
      const answer = await get(`/v2/images/${name.toLowerCase()}`);
      return answer.status === 404 ? [] : [bodyOf(imageSchema, answer, session, 'image')];
    }
    const answer = await get('/v2/images', { name });
    // Glance interprets some names as conditions, and then lists other images. So this line compares the names again.
    return bodyOf(listSchema, answer, session, 'image').images.filter((image) => image.name === name);
  };
  const find = async (): Promise<string> => {
    if (wanted === null) throw unusableImageError('is not set');
    const found = await images(wanted);
    const [image] = found;
    if (image === undefined) throw unusableImageError(`names the image '${wanted}', which does not exist in Glance`);
    if (found.length > 1)
      throw unusableImageError(`names ${found.length} images '${wanted}'; use the id of one of them`);
    if (image.status !== 'active')
      throw unusableImageError(`names the image '${wanted}', whose status is ${image.status}`);
    // Without this property, Nova would boot the image as a disk that replaces the server's disk.
    if (image.hw_rescue_device !== 'cdrom')
      throw unusableImageError(`names the image '${wanted}', which lacks the property hw_rescue_device=cdrom`);
    return image.id;
  };
  return {
    find,
    check: async (log) => {
      if (wanted === null) return;
      try {
        await find();
      } catch (error) {
        if (error instanceof DriverError || error instanceof CloudError)
          log.warn(`servers cannot boot from the network: ${error.message}`);
        else log.debug('the image for boots from the network is not known yet', { error });
      }
    },
  };
}

function unusableImageError(why: string): DriverError {
  return new DriverError('conflict', `EMULATOR_OS_IPXE_IMAGE ${why}`);
}
