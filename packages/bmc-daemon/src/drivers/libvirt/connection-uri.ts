/** Connection URIs, looked at without a connection. */
import { parseUri } from '@rackless/libvirt';

/** Why a URI leads to no host, in the words of an attempt to connect; undefined for one that may. */
export function connectionUriFault(uri: string): string | undefined {
  try {
    parseUri(uri);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
