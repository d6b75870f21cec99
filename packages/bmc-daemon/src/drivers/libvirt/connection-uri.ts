/** Validation of connection URIs, without a connection. */
import { parseUri } from '@rackless/libvirt';

/**
 * Returns why a URI is invalid, with the same text as the error of a connection attempt; undefined for
 * a valid URI.
 */
export function connectionUriFault(uri: string): string | undefined {
  try {
    parseUri(uri);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
