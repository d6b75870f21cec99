/** Selects the transport of a URI. */
import type { LibvirtUri } from '../uri.js';
import { openLocal } from './open-local.js';
import { connectTcp } from './socket.js';
import { openSsh } from './ssh.js';
import { openTls } from './tls.js';
import type { OpenTransport } from './transport.js';

/** Port of libvirtd's TCP socket. */
const TCP_PORT = 16_509;

/** Returns the function that opens connections to the daemon of a URI. */
export function transportOf(uri: LibvirtUri): OpenTransport {
  switch (uri.transport) {
    case 'unix':
      return openLocal(uri);
    case 'ssh':
      return openSsh(uri);
    case 'tls':
      return openTls(uri);
    case 'tcp': {
      const address = { host: uri.host ?? 'localhost', port: uri.port ?? TCP_PORT };
      return (handlers, signal) => connectTcp(address, handlers, signal);
    }
  }
}
