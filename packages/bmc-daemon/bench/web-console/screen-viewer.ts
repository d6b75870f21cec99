/**
 * A viewer of a screen. It requests pictures with noVNC's encodings at a fixed rate, and only counts
 * their bytes.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Tight, CopyRect, raw, quality 6, compression 2, the size of the desktop. */
const ENCODINGS = [7, 1, 0, -26, -254, -223];
/**
 * The time between two requests. The guests draw 18 pictures a second, and noVNC requests the next
 * picture after each one. This viewer is slightly faster.
 */
const REQUEST_MS = 50;

/** An open screen. */
export interface ScreenViewer {
  readonly bytes: () => number;
  readonly close: () => void;
}

/** Opens a screen, and asks for pictures until it is closed. */
export async function openViewer(url: string): Promise<ScreenViewer> {
  const socket = new WebSocket(url, ['rackless'], { perMessageDeflate: false });
  let received = Buffer.alloc(0);
  let count = 0;
  let isHandshakeComplete = false;
  let wake = (): void => undefined;
  socket.on('message', (data: Buffer) => {
    count += data.length;
    if (isHandshakeComplete) return;
    received = Buffer.concat([received, data]);
    wake();
  });
  const read = async (length: number): Promise<Buffer> => {
    while (received.length < length) await new Promise<void>((resolve) => (wake = resolve));
    const bytes = received.subarray(0, length);
    received = received.subarray(length);
    return bytes;
  };
  await once(socket, 'open');
  socket.send(await read(12));
  const [types = 0] = await read(1);
  await read(types);
  socket.send(Buffer.from([1]));
  await read(4);
  socket.send(Buffer.from([1]));
  const init = await read(24);
  await read(init.readUInt32BE(20));
  isHandshakeComplete = true;
  const encodings = Buffer.alloc(4 + 4 * ENCODINGS.length);
  encodings.writeUInt8(2, 0);
  encodings.writeUInt16BE(ENCODINGS.length, 2);
  for (const [index, encoding] of ENCODINGS.entries()) encodings.writeInt32BE(encoding, 4 + 4 * index);
  socket.send(encodings);
  const ask = (isIncremental: boolean): void => {
    const request = Buffer.from([3, Number(isIncremental), 0, 0, 0, 0, 4, 0, 4, 0]);
    if (socket.readyState === socket.OPEN) socket.send(request);
  };
  ask(false);
  const timer = setInterval(() => ask(true), REQUEST_MS);
  return {
    bytes: () => count,
    close: () => {
      clearInterval(timer);
      socket.terminate();
    },
  };
}
