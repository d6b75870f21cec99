/**
 * An upstream. A request that contains `hostile-7-` gets the bytes of seed 7. A request that contains `probe-7-`
 * gets a valid answer with the id 7.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { hostileAnswer, type HostileAnswer } from './hostile-answers.js';

/** Milliseconds for which `stay` leaves the connection open. */
const STAY_MS = 20;

export interface HostileServer {
  readonly apiBase: string;
  close(): Promise<void>;
}

/** Returns the body of the answer to a probe. */
export const probeAnswer = (id: string) => `{"object":"probe","model":null,"id":"${id}"}`;

/** Starts the upstream on a free port. */
export async function startHostileServer(): Promise<HostileServer> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
  return {
    apiBase: `http://127.0.0.1:${port}/v1`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function serve(socket: Socket): void {
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    const [, kind, id] = /(hostile|probe)-(\d+)-/.exec(text) ?? [];
    if (kind === undefined || id === undefined) return;
    const hostile = kind === 'hostile' ? hostileAnswer(Number(id)) : undefined;
    if (hostile?.early !== true && !isWhole(text)) return;
    text = '';
    if (hostile !== undefined) void write(socket, hostile);
    else {
      const body = probeAnswer(id);
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    }
  });
}

/** Returns whether a request is complete. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const head = text.slice(0, end);
  if (/^transfer-encoding: chunked$/im.test(head)) return text.endsWith('\r\n0\r\n\r\n');
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  return text.length >= end + 4 + length;
}

async function write(socket: Socket, { writes, then }: HostileAnswer): Promise<void> {
  for (const [index, piece] of writes.entries()) {
    if (index > 0) await nextTurn();
    if (!socket.destroyed) socket.write(piece);
  }
  if (then === 'stay') setTimeout(() => socket.end(), STAY_MS);
  else if (then === 'close') socket.end();
  else socket.resetAndDestroy();
}
