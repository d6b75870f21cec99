/** The certificate authorities that an image server's certificate is verified by. */
import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { ImageRequest } from './image.js';
import { ImageError } from './image-error.js';

/**
 * Whose certificates are trusted, as PEM.
 * @param caFile further ones, for every image; read each time, so that a renewed one is noticed.
 * @returns undefined: Node's own. Setting `ca` replaces the built-in list; a private authority is meant to be added to it.
 * @throws {ImageError} mediaTls, where the file of the configuration can not be read.
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
