/** A port for a server that cannot choose its port itself. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The ports. They are below those that Linux gives to other sockets (`net.ipv4.ip_local_port_range`), so that no other
 * test gets one of them before the server listens.
 */
const PORTS = { first: 30_000, end: 32_768 };

/** Returns a port of 127.0.0.1 that is free now. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.first, PORTS.end);
    const server = createServer();
    const isFree = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, '127.0.0.1');
    if (!(await isFree)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
