/** Events and logs of two replicas behind a balancer, with a real Redis. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { idOf } from '../support/listed-servers.js';
import { admin, read, root, send, statusOf } from './client.js';
import { startService, type Replica, type Service } from './replicas.js';

const system = `${root}/Systems/${idOf(1)}`;
const entriesOf = (log: string): string => `${log}/Entries`;
const serviceLog = `${root}/Managers/${idOf(1)}/LogServices/ManagerLog`;

let service: Service;
let a: Replica;
let b: Replica;
let streams: AbortController;
beforeEach(async () => {
  streams = new AbortController();
  service = await startService();
  [a, b] = await Promise.all([service.start(), service.start()]);
});
afterEach(async () => {
  streams.abort();
  await service.stop();
});

interface EventRecord {
  readonly EventId: string;
  readonly MessageId: string;
  readonly Username?: string;
  readonly Message: string;
  readonly OriginOfCondition?: { readonly '@odata.id': string };
}

/** Opens an event stream. @returns the events so far. */
async function stream({ url }: Replica, lastEventId?: string): Promise<EventRecord[]> {
  const last = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const answer = await fetch(`${url}${root}/EventService/SSE`, {
    headers: { ...admin, ...last },
    signal: streams.signal,
  });
  const received: EventRecord[] = [];
  let text = '';
  const receive = async (): Promise<void> => {
    for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece;
      const parts = text.split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const data = part.split('\n').find((line) => line.startsWith('data: '));
        if (data === undefined) continue;
        received.push(...(JSON.parse(data.slice(6)) as { Events: EventRecord[] }).Events); // the service sends events
      }
    }
  };
  void receive().catch(() => undefined);
  return received;
}
const named = (events: readonly EventRecord[], text: string) => events.filter(({ Message }) => Message.includes(text));
const arrived = (events: readonly EventRecord[], text: string): Promise<EventRecord> =>
  waitFor(
    () => named(events, text)[0],
    () => `no event has ${text}: ${JSON.stringify(events)}`,
  );
const testEvent = (replica: Replica, Message: string) =>
  send(replica, 'POST', `${root}/EventService/Actions/EventService.SubmitTestEvent`, {
    body: { MessageId: 'Base.1.0.Success', Message },
    headers: admin,
  });

/** A client that receives events. */
async function listen(): Promise<{ readonly server: Server; readonly url: string; readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      bodies.push(text);
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens at TCP
  return { server, url: `http://127.0.0.1:${port}/`, bodies };
}

it('sends the events of each replica to the streams and listeners of all, with the same ids', async () => {
  const [atA, atB] = await Promise.all([stream(a), stream(b)]);
  const { server, url, bodies } = await listen();
  const body = { Destination: url, Protocol: 'Redfish' };
  const subscribed = await send(a, 'POST', `${root}/EventService/Subscriptions`, { body, headers: admin });
  expect(subscribed.status).toBe(201);
  const role = { RoleId: 'watcher', AssignedPrivileges: ['Login'] };
  expect(await statusOf(send(b, 'POST', `${root}/AccountService/Roles`, { body: role, headers: admin }))).toBe(201);
  const [first, second] = await Promise.all([atA, atB].map((events) => arrived(events, 'Roles/watcher')));
  expect(first).toEqual(second);
  expect(first?.Username).toBe('admin');
  await waitFor(
    () => (bodies.some((text) => text.includes('Roles/watcher')) ? true : undefined),
    () => `the listener has only ${bodies.join()}`,
  );
  server.close();
});

it('continues a stream at another replica after the first one was killed', async () => {
  const before = await stream(a);
  await testEvent(a, 'the first event');
  const { EventId } = await arrived(before, 'the first event');
  await a.process.dispose();
  await testEvent(b, 'the second event');
  const after = await stream(b, EventId);
  await arrived(after, 'the second event');
  expect(named(after, 'the first event')).toEqual([]);
});

it('reports a change of power once, although all replicas observe it', async () => {
  const events = await stream(a);
  const reset = `${system}/Actions/ComputerSystem.Reset`;
  expect(await statusOf(send(b, 'POST', reset, { body: { ResetType: 'ForceOff' }, headers: admin }))).toBe(204);
  await waitFor(
    async () => ((await read(a, system, admin)).body['PowerState'] === 'Off' ? true : undefined),
    () => 'the other replica does not see it',
  );
  await testEvent(a, 'the last event');
  await arrived(events, 'the last event');
  expect(events.filter(({ MessageId }) => MessageId.endsWith('.ResourcePoweredOff'))).toHaveLength(1);
});

it('has the same logs at all replicas', async () => {
  await testEvent(a, 'from a');
  await testEvent(b, 'from b');
  const { body } = await waitFor(
    async () => {
      const answer = await read(a, entriesOf(serviceLog), admin);
      const text = JSON.stringify(answer.body);
      return text.includes('from a') && text.includes('from b') ? answer : undefined;
    },
    () => 'the log lacks an event',
  );
  expect((await read(b, entriesOf(serviceLog), admin)).body).toEqual(body);
  await a.process.dispose();
  const again = await service.start();
  expect((await read(again, entriesOf(serviceLog), admin)).body).toEqual(body);
  const clear = `${serviceLog}/Actions/LogService.ClearLog`;
  expect(await statusOf(send(b, 'POST', clear, { body: {}, headers: admin }))).toBe(204);
  const cleared = JSON.stringify((await read(again, entriesOf(serviceLog), admin)).body);
  expect(cleared).not.toContain('from a');
});
