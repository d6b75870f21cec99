import { createHash, randomBytes } from 'node:crypto';
import type { ImageValidator } from './image-server.js';

const PREFIX = 'rackless-';
const SUFFIX = '.iso';
const PART_SUFFIX = '.part';

/**
 * Name of the volume that holds an image: made of hashes only, for what a server or a client chose must never become a file
 * name. The first half names the address, so that all contents of one address are found by it, the second the content.
 * @param url the address without credentials.
 */
export function imageVolumeName(url: string, validator: ImageValidator): string {
  const content = JSON.stringify([validator.etag, validator.lastModified, validator.sizeBytes]);
  return `${imageVolumePrefix(url)}${digest(content)}${SUFFIX}`;
}

/** Whether a server says anything by which a later content of the same address would be told from this one: size alone does not. */
export function tellsContents({ etag, lastModified }: ImageValidator): boolean {
  return etag !== null || lastModified !== null;
}

/** Name of a copy that no content has, so nobody is given it later: a machine's own, or one of a content that nothing tells. */
export function ownVolumeName(url: string): string {
  return `${imageVolumePrefix(url)}${randomBytes(8).toString('hex')}${SUFFIX}`;
}

/** What the names of all contents of one address begin with. */
export function imageVolumePrefix(url: string): string {
  return `${PREFIX}${digest(url)}-`;
}

/** Name of the file that an image is downloaded into before it gets its own name. */
export function partVolumeName(volumeName: string): string {
  return `${volumeName}${PART_SUFFIX}`;
}

/** Whether a volume is one that we made: an image, a part of one, or a probe. The user's own are never deleted. */
export function isOwnVolume(name: string): boolean {
  return /^rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso(\.part)?$/.test(name);
}

/** Whether a volume of ours is half a download. */
export function isPartVolume(name: string): boolean {
  return isOwnVolume(name) && name.endsWith(PART_SUFFIX);
}

/** 64 bits: enough to tell a host's images apart, and short enough for a person to compare. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
