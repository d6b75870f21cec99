/** Selects the transport of a URI. */
import type { LibvirtUri } from '../uri.js';
import { openLocal } from './open-local.js';
import { openSsh } from './ssh.js';
import type { OpenTransport } from './transport.js';

/**
 * Returns the function that opens connections to the daemon of a URI.
 * @throws {LibvirtError} INVALID_URI, if the URI lacks a parameter of its transport.
 */
export function transportOf(uri: LibvirtUri): OpenTransport {
  switch (uri.transport) {
    case 'ssh':
      return openSsh(uri);
    default:
      return openLocal(uri);
  }
}
