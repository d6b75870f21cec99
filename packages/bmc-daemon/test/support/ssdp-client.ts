/** An SSDP client on the loopback interface. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { networkInterfaces } from 'node:os';

/** The loopback interface only. */
export const loopbackAlone: typeof networkInterfaces = () => ({
  lo: [
    {
      address: '127.0.0.1',
      netmask: '255.0.0.0',
      family: 'IPv4',
      mac: '00:00:00:00:00:00',
      internal: true,
      cidr: '127.0.0.1/8',
    },
  ],
});

/**
 * Returns a search request.
 * @param headers replace the default headers; null removes a header.
 */
export function searchText(headers: Readonly<Record<string, string | null>> = {}): string {
  const all: Readonly<Record<string, string | null>> = {
    HOST: '239.255.255.250:1900',
    MAN: '"ssdp:discover"',
    MX: '1',
    ST: 'urn:dmtf-org:service:redfish-rest:1',
    ...headers,
  };
  const lines = Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return ['M-SEARCH * HTTP/1.1', ...lines, '', ''].join('\r\n');
}

/** Returns a UDP port that is free now. */
export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  return port;
}

/** An open client. */
export interface SsdpClient {
  /** Received packets with the address of the sender. */
  readonly received: readonly { readonly text: string; readonly from: string }[];
  /** Sends a packet. `address` can be a multicast group. */
  send(text: string | Buffer, to: { readonly address: string; readonly port: number }): Promise<void>;
  /** Resolves when this number of packets has arrived since the client was opened. */
  arrived(count: number): Promise<void>;
  close(): void;
}

/**
 * Opens a client.
 * @param listen joins a multicast group, to receive announcements.
 */
export async function openSsdpClient(listen?: { readonly group: string; readonly port: number }): Promise<SsdpClient> {
  const socket: Socket = createSocket({ type: 'udp4', reuseAddr: true });
  const received: { text: string; from: string }[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (packet, { address }) => {
    received.push({ text: packet.toString(), from: address });
    for (const resolveIfComplete of waiting) resolveIfComplete();
  });
  if (listen === undefined) socket.bind(0);
  else socket.bind(listen.port, listen.group);
  await once(socket, 'listening');
  if (listen !== undefined) socket.addMembership(listen.group, '127.0.0.1');
  socket.setMulticastInterface('127.0.0.1');
  return {
    received,
    send: (text, { address, port }) =>
      new Promise((resolve, reject) => {
        socket.send(text, port, address, (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      }),
    arrived: (count) =>
      new Promise((resolve) => {
        const resolveIfComplete = (): void => {
          if (received.length < count) return;
          waiting.delete(resolveIfComplete);
          resolve();
        };
        waiting.add(resolveIfComplete);
        resolveIfComplete();
      }),
    close: () => void socket.close(),
  };
}
