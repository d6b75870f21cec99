/** The certificate authorities for image servers. */
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { ImageRequest } from './image.js';
import { ImageError } from './image-error.js';

/**
 * Returns the trusted authorities as PEM: those of Node.js and the additional ones, because the
 * option `ca` replaces the list of Node.js.
 * @param caFile additional authorities for every image. It is read each time, so that a renewed
 *   file takes effect.
 * @returns undefined if there are no additional authorities; Node.js then uses its own list.
 * @throws {ImageError} mediaTls, if the file of the configuration cannot be read.
 */
export async function authoritiesOf(
  { authorities = [] }: Pick<ImageRequest, 'authorities'>,
  caFile: string | undefined,
): Promise<readonly string[] | undefined> {
  if (caFile === undefined && authorities.length === 0) return undefined;
  return [...rootCertificates, ...(caFile === undefined ? [] : [await readAuthorities(caFile)]), ...authorities];
}

async function readAuthorities(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ImageError(
      'mediaTls',
      `reading the certificate authorities of ${file}: ${errorCode(cause) ?? 'failed'}`,
      {
        cause,
      },
    );
  }
}
