import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP relay on loopback, for faults of the network. */
export interface Relay {
  readonly port: number;
  /** Number of connections since the start. */
  readonly accepted: number;
  /** Stops forwarding bytes in both directions. New connections are accepted, but get no answer. */
  stall(): void;
  /** Forwards again, also the bytes that arrived meanwhile. */
  resume(): void;
  /** Closes all connections. `end` closes with FIN after the bytes forwarded so far, `reset` with RST. */
  cut(how: 'end' | 'reset'): void;
  /** Closes the relay and all connections. */
  stop(): Promise<void>;
}

/** Starts a relay in front of a port of this host. */
export async function startRelay(targetPort: number): Promise<Relay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let stalled = false;
  let accepted = 0;
  const flow = (sockets: readonly Socket[]): void => {
    for (const socket of sockets) {
      if (stalled) socket.pause();
      else socket.resume();
    }
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1;
    const upstream = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
    flow(pair);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    get accepted() {
      return accepted;
    },
    stall: () => {
      stalled = true;
      for (const pair of pairs) flow(pair);
    },
    resume: () => {
      stalled = false;
      for (const pair of pairs) flow(pair);
    },
    cut: (how) => {
      for (const [client, upstream] of pairs) {
        if (how === 'reset') client.resetAndDestroy();
        else client.end();
        upstream.destroy();
      }
    },
    stop: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
