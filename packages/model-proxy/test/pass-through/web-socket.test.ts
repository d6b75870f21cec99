import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { useRawProxy } from './fixture.js';

const fixture = useRawProxy();

function open(path: string, protocols: readonly string[] = [], headers: Readonly<Record<string, string>> = {}) {
  const { proxy } = fixture();
  return new WebSocket(`ws://127.0.0.1:${proxy.port}${path}`, [...protocols], {
    headers,
    maxPayload: 64 * 1024 * 1024,
  });
}

async function opened(...words: Parameters<typeof open>): Promise<WebSocket> {
  const socket = open(...words);
  await once(socket, 'open');
  return socket;
}

async function message(socket: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean]; // documented for this event
  return { data, isBinary };
}

async function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]; // documented for this event
  return { code, reason: reason.toString() };
}

describe('a WebSocket', () => {
  it('carries texts, binary and large frames in both directions (C13)', async () => {
    const socket = await opened('/v1/realtime?model=gpt');
    socket.send('hello');
    expect(await message(socket)).toEqual({ data: Buffer.from('hello'), isBinary: false });
    const large = Buffer.alloc(1_048_576, 7);
    socket.send(large);
    const back = await message(socket);
    expect([back.isBinary, back.data.equals(large)]).toEqual([true, true]);
    socket.close(4001, 'enough');
    expect(await closed(socket)).toEqual({ code: 4001, reason: 'enough' });
  });
});
