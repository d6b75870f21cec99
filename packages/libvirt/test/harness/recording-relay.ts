import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { MessageStatus, MessageType, readHeader } from '../../src/protocol/message.js';
import { MessageSplitter } from '../../src/protocol/message-splitter.js';
import { XdrReader } from '../../src/xdr.js';

/** A relay in front of a libvirtd that records the stream messages of each connection. */
interface RecordingRelay {
  /**
   * For each connection: its stream messages with their senders, in order, such as `client: data`, `client: error`
   * (an abort) and `libvirtd: ok`, and then the side that closed it first, such as `client: close`.
   */
  readonly connections: readonly (readonly string[])[];
  /** Closes the relay and all connections. */
  stop(): Promise<void>;
}

const statusNames: Readonly<Record<number, string>> = {
  [MessageStatus.ok]: 'ok',
  [MessageStatus.error]: 'error',
  [MessageStatus.continue]: 'data',
};

/** Starts a relay that listens on the unix socket `socket`, and connects each client to the socket `target`. */
export async function startRecordingRelay(socket: string, target: string): Promise<RecordingRelay> {
  const connections: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const seen: string[] = [];
    connections.push(seen);
    const libvirtd = connect(target);
    for (const { from, to, name } of [
      { from: client, to: libvirtd, name: 'client' },
      { from: libvirtd, to: client, name: 'libvirtd' },
    ]) {
      sockets.add(from);
      const splitter = new MessageSplitter((buffer, start, end) => {
        const { type, status } = readHeader(new XdrReader(buffer, start, end));
        if (type === MessageType.stream) seen.push(`${name}: ${statusNames[status] ?? status}`);
        return true;
      });
      from.on('data', (chunk: Buffer) => {
        splitter.push(chunk);
        to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        if (!to.destroyed) seen.push(`${name}: close`);
        to.destroy();
      });
    }
  });
  server.listen(socket);
  await once(server, 'listening');
  return {
    connections,
    stop: async () => {
      for (const each of sockets) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
