/** Gives a cloud a Glance that the test controls, for tests of images. */
import { createGlance, type Glance } from '../support/glance.js';
import type { ServedCloud } from '../support/served-cloud.js';
import { iso, startImages, type Images } from './media-lab.js';

/**
 * Adds server 1 and an empty Glance to a cloud, and starts an image server with `/boot.iso`. The caller
 * closes the image server.
 */
export async function startImageCloud({
  api,
  servers,
}: ServedCloud): Promise<{ readonly images: Images; readonly glance: Glance }> {
  const images = await startImages();
  images.contents.set('/boot.iso', iso);
  const glance = createGlance();
  api.others.set('image', glance.handler);
  servers.put(1);
  return { images, glance };
}
