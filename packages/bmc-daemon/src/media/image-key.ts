/** The names of stored images, which identify their URL and content. */
import { createHash, randomBytes } from 'node:crypto';
import type { ImageValidator } from './image-download.js';

const PREFIX = 'rackless-';
const SUFFIX = '.iso';
const PART_SUFFIX = '.part';

/**
 * Returns the name of an image's volume. The name consists of hashes, because text from a server or
 * a client must never be part of a file name. The first half identifies the URL, so that all
 * contents of one URL can be found. The second half identifies the content.
 * @param url the URL without credentials.
 */
export function storedImageName(url: string, validator: ImageValidator): string {
  const content = JSON.stringify([validator.etag, validator.lastModified, validator.sizeBytes]);
  return `${storedImagePrefix(url)}${digest(content)}${SUFFIX}`;
}

/**
 * Returns whether the server identifies the content, so that a later content of the same URL is
 * recognized. The size alone does not identify it.
 */
export function identifiesContent({ etag, lastModified }: ImageValidator): boolean {
  return etag !== null || lastModified !== null;
}

/**
 * Returns a unique name for a copy that is never shared: a private copy of a machine, or content
 * that the server does not identify.
 */
export function uniqueImageName(url: string): string {
  return `${storedImagePrefix(url)}${randomBytes(8).toString('hex')}${SUFFIX}`;
}

/** Returns the common prefix of the names of all stored contents of one URL. */
export function storedImagePrefix(url: string): string {
  return `${PREFIX}${digest(url)}-`;
}

/** Returns the name of the file during a download. */
export function partImageName(volumeName: string): string {
  return `${volumeName}${PART_SUFFIX}`;
}

/**
 * Returns whether a name has the form that the daemon gives to its own volumes: an image or a
 * partial download. The daemon never deletes volumes with other names, because they belong to the
 * user.
 */
export function isStoredImageName(name: string): boolean {
  return /^rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso(\.part)?$/.test(name);
}

/** Returns whether a volume is a partial download. */
export function isPartImageName(name: string): boolean {
  return isStoredImageName(name) && name.endsWith(PART_SUFFIX);
}

/** Returns 64 bits of a hash: enough to be unique on a host, and short enough for users to compare. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
