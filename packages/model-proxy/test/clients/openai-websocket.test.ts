/**
 * OpenAI's official SDK with the WebSocket of `/v1/responses`. The SDK names the model only in its events.
 * @see https://developers.openai.com/api/docs/guides/websocket-mode
 */
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type { WebSocket } from 'ws';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { closedEntry, configOf } from '../pass-through/fixture.js';
import { RAW_KEY, RawUpstream } from '../pass-through/raw-upstream.js';

const MASTER = 'sk-master-0123456789';
const DELTAS = 200;

/** Answers each `response.create` with the events of a response. */
function answer(socket: WebSocket): void {
  let count = 0;
  socket.on('message', (data: Buffer) => {
    const { type, model, input } = JSON.parse(data.toString()) as Record<string, string>; // the test sends it
    if (type !== 'response.create') return;
    count += 1;
    let number = 0;
    const send = (name: string, more: object) =>
      socket.send(JSON.stringify({ type: name, sequence_number: number++, ...more }));
    const response = { id: `resp_${count}`, object: 'response', model, output: [] };
    send('response.created', { response });
    for (let delta = 0; delta < DELTAS; delta += 1) send('response.output_text.delta', { delta: `${input}${delta} ` });
    send('response.completed', { response: { ...response, status: 'completed' } });
  });
}

describe("OpenAI's SDK at the WebSocket of /v1/responses", () => {
  let upstream: RawUpstream;
  let other: RawUpstream;
  let proxy: TestProxy;
  const general = ['general_settings:', `  master_key: ${MASTER}`];
  beforeAll(async () => {
    upstream = await RawUpstream.start({ secure: false });
    other = await RawUpstream.start({ secure: false });
    proxy = await startTestProxy(configOf(upstream, [closedEntry('gpt', 'openai/gpt-upstream', upstream)], general));
  });
  afterEach(() => {
    upstream.forget();
    other.forget();
  });
  afterAll(async () => {
    await proxy.close();
    await upstream.close();
    await other.close();
  });

  const open = (url: string, defaultQuery: Record<string, string> = {}) =>
    new ResponsesWS(new OpenAI({ apiKey: MASTER, baseURL: `${url}/v1`, defaultQuery }));

  /** Sends a request, and returns the events of its response. */
  async function respond(socket: ResponsesWS, input: string) {
    const events: { readonly type: string; readonly delta?: string }[] = [];
    const completed = new Promise<void>((resolve, reject) => {
      const take = (event: { readonly type: string; readonly delta?: unknown }) => {
        events.push({ type: event.type, ...(typeof event.delta === 'string' ? { delta: event.delta } : {}) });
        if (event.type !== 'response.completed') return;
        socket.off('event', take);
        resolve();
      };
      socket.on('event', take);
      socket.once('error', reject);
    });
    socket.send({ type: 'response.create', model: 'gpt-upstream', input });
    await completed;
    return events;
  }

  it('runs several turns on one connection, without a model in the URL', async () => {
    upstream.onWebSocket = answer;
    const socket = open(proxy.url);
    for (const input of ['one', 'two', 'three']) {
      const events = await respond(socket, input);
      expect(events.map(({ type }) => type)).toEqual([
        'response.created',
        ...Array.from({ length: DELTAS }, () => 'response.output_text.delta'),
        'response.completed',
      ]);
      expect(events.at(DELTAS)?.delta).toBe(`${input}${DELTAS - 1} `);
    }
    expect(upstream.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/v1/responses', `Bearer ${RAW_KEY}`],
    ]);
    const [end] = upstream.webSockets;
    if (end === undefined) throw new Error('the upstream has no WebSocket');
    const closed = once(end, 'close');
    socket.close({ code: 1000, reason: 'OK' });
    expect((await closed)[0]).toBe(1000);
  });

  it('gets on each of 50 connections the events of that connection', async () => {
    upstream.onWebSocket = answer;
    const sockets = Array.from({ length: 50 }, () => open(proxy.url));
    const all = await Promise.all(sockets.map((socket, index) => respond(socket, `n${index}-`)));
    for (const [index, events] of all.entries()) expect(events.at(DELTAS)?.delta).toBe(`n${index}-${DELTAS - 1} `);
    for (const socket of sockets) socket.close();
  });

  it('notices that the upstream cuts a connection within a frame, and can open another connection', async () => {
    upstream.onWebSocket = (socket, request) => {
      socket.on('message', () => {
        // The head of a text frame of 100 bytes, and the first 4 of these bytes.
        request.socket.end(Buffer.from([0x81, 100, 1, 2, 3, 4]));
      });
    };
    const socket = open(proxy.url);
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.send({ type: 'response.create', model: 'gpt-upstream', input: 'x' });
    expect(await closed).toBe(1006);
    upstream.onWebSocket = answer;
    const next = open(proxy.url);
    expect(await respond(next, 'x')).toHaveLength(DELTAS + 2);
    next.close();
  });

  it('needs a model in the URL if there are several accounts, and reaches the upstream of that model', async () => {
    const entries = [
      closedEntry('gpt', 'openai/gpt-upstream', upstream),
      closedEntry('other', 'openai/gpt-other', other),
    ];
    const two = await startTestProxy(configOf(upstream, entries, general));
    try {
      const refused = open(two.url);
      const error = await new Promise<Error>((resolve) => refused.once('error', resolve));
      expect(error.message).toContain('400');
      await waitFor(
        () => (two.logged().some((line) => line.includes('/v1/responses') && line.includes('400')) ? true : undefined),
        () => two.logged().join('\n'),
      );
      other.onWebSocket = answer;
      const socket = open(two.url, { model: 'other' });
      expect(await respond(socket, 'x')).toHaveLength(DELTAS + 2);
      expect([upstream.seen.length, other.last.url]).toEqual([0, '/v1/responses?model=gpt-other']);
      socket.close();
    } finally {
      await two.close();
    }
  });
});
