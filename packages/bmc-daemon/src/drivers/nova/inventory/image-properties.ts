/**
 * The properties of the images that servers were created from. Nova chooses firmware, Secure Boot and
 * architecture by them when it creates a server.
 * @see https://docs.openstack.org/glance/latest/admin/useful-image-properties.html
 */
import { z } from 'zod';
import { CloudError } from '../cloud/cloud-error.js';
import type { CloudService } from '../cloud/cloud-services.js';
import { CloudFailure } from '../http/cloud-failure.js';
import { successOf, type CloudSession } from '../http/session.js';
import type { Server } from '../compute/server.js';
import { createReadingCache } from '../http/reading-cache.js';
import type { Volume, Volumes } from './volume-api.js';

/** Properties by name. */
export type ImageProperties = Readonly<Record<string, string>>;

/** Finds the properties of the image of a server. */
export interface ImagePropertyReader {
  /**
   * Returns the properties; undefined if they are unknown.
   * @throws as {@link CloudSession.request}.
   */
  propertiesOf(server: Pick<Server, 'id' | 'imageId' | 'volumeIds'>): Promise<ImageProperties | undefined>;
}

/**
 * The cache reads the properties of an image again when its copy has this age. Properties rarely change, and
 * a change has no effect on servers that exist.
 */
const MAX_AGE_MS = 300_000;
/** If Glance has not answered a request, further readers get this failure at once for this time, without a request. */
const FAILURE_MS = 10_000;
/** Maximum number of images in the cache. */
const MAX_IMAGES = 1000;
/** Maximum length of a value in characters. Longer values are shortened. */
const MAX_VALUE = 255;

const imageSchema = z.record(z.string(), z.unknown());

/** Creates the reader of image properties. Makes no request before its first use. */
export function createImagePropertyReader(session: CloudSession, volumes: Volumes): ImagePropertyReader {
  const read = async (id: string): Promise<ImageProperties | undefined> => {
    const doing = `reading image ${id}`;
    const path = `/v2/images/${encodeURIComponent(id)}`;
    const answer = await session.request({ method: 'GET', service: 'image', path });
    // The owner of an image may delete or hide it while servers use it.
    if (answer.status === 404 || answer.status === 403) return undefined;
    const parsed = imageSchema.safeParse(successOf(answer, doing, session, 'image'));
    if (!parsed.success) throw new CloudFailure('interrupted', `${doing}: Glance's answer has an unexpected form`);
    return knownProperties(parsed.data);
  };
  const cache = createReadingCache(read, { max: MAX_IMAGES, maxAgeMs: MAX_AGE_MS, failureMs: FAILURE_MS });
  /** Treats a service with an invalid URL in the catalog as absent: the resources are readable without it. */
  const offers = async (service: CloudService): Promise<boolean> => {
    try {
      return await session.offers(service);
    } catch (error) {
      if (error instanceof CloudError) return false;
      throw error;
    }
  };
  return {
    propertiesOf: async ({ id, imageId, volumeIds }) => {
      if (imageId !== null) return (await offers('image')) ? await cache.read(imageId) : undefined;
      if (!(await offers('volume'))) return undefined;
      const found = await Promise.all(volumeIds.map((volume) => volumes.read(volume)));
      const bootable = found.filter((volume): volume is Volume => volume?.isBootable === true);
      // The root disk is the first one, such as `/dev/vda`.
      const root = bootable.find(({ devices }) => devices[id]?.endsWith('a') === true) ?? bootable[0];
      return root === undefined ? undefined : knownProperties(root.imageProperties);
    },
  };
}

/**
 * Returns only the properties that the daemon uses, because an image may have many large
 * properties.
 */
function knownProperties(all: Readonly<Record<string, unknown>>): ImageProperties {
  const names = ['hw_firmware_type', 'os_secure_boot', 'hw_machine_type', 'hw_architecture', 'architecture'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = Object.hasOwn(all, name) ? all[name] : undefined;
      return typeof value === 'string' ? [[name, value.slice(0, MAX_VALUE)]] : [];
    }),
  );
}
