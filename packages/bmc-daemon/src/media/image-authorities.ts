/** The certificate authorities for image servers. */
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { ImageRequest } from './image.js';
import { ImageError } from './image-error.js';

/**
 * Returns the trusted authorities as PEM.
 * @param caFile additional authorities for every image. It is read each time, so that a renewed
 *   file takes effect.
 * @returns undefined: the authorities of Node.js. The option `ca` would replace that list, so the
 *   result contains it.
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
