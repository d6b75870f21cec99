/** Tests events and logs of replicas behind a balancer, with a real Redis. */
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
const subscriptions = `${root}/EventService/Subscriptions`;
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

/** Opens an event stream. @returns the list of received events, which grows. */
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
const withText = (events: readonly EventRecord[], text: string) =>
  events.filter(({ Message }) => Message.includes(text));
const arrived = (events: readonly EventRecord[], text: string): Promise<EventRecord> =>
  waitFor(
    () => withText(events, text)[0],
    () => `no event has ${text}: ${JSON.stringify(events)}`,
  );
const testEvent = (replica: Replica, Message: string) =>
  send(replica, 'POST', `${root}/EventService/Actions/EventService.SubmitTestEvent`, {
    body: { MessageId: 'Base.1.0.Success', Message },
    headers: admin,
  });

/**
 * Starts an event listener. The caller closes the server.
 * @returns the server, its URL, and the bodies of the requests that it has received. The list grows.
 */
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
  const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
  return { server, url: `http://127.0.0.1:${port}/`, bodies };
}

it('a service sends an event of one replica, with the same id, to the streams of all replicas, and to push subscribers', async () => {
  const [atA, atB] = await Promise.all([stream(a), stream(b)]);
  const { server, url, bodies } = await listen();
  const body = { Destination: url, Protocol: 'Redfish' };
  const subscribed = await send(a, 'POST', subscriptions, { body, headers: admin });
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

it('a service shows, changes and removes a subscription at every replica', async () => {
  const body = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish', Context: 'first' };
  const { headers } = await send(a, 'POST', subscriptions, { body, headers: admin });
  const uri = headers.get('location') ?? '';
  expect((await read(b, subscriptions, admin)).body['Members']).toEqual([{ '@odata.id': uri }]);
  // No server listens at this port. The replica that delivers the events notices the failure, and the Health of the
  // subscription is Warning at both replicas.
  for (const replica of [a, b])
    await waitFor(
      async () => {
        const { Status } = (await read(replica, uri, admin)).body as { Status?: { Health?: string } };
        return Status?.Health === 'Warning' ? true : undefined;
      },
      () => 'the health does not change',
    );
  expect((await read(b, uri, admin)).body).toEqual((await read(a, uri, admin)).body);
  expect(await statusOf(send(b, 'PATCH', uri, { body: { Context: 'second' }, headers: admin }))).toBe(200);
  expect((await read(a, uri, admin)).body['Context']).toBe('second');
  const retries = { DeliveryRetryAttempts: 7 };
  expect(await statusOf(send(b, 'PATCH', `${root}/EventService`, { body: retries, headers: admin }))).toBe(200);
  expect((await read(a, `${root}/EventService`, admin)).body['DeliveryRetryAttempts']).toBe(7);
  expect(await statusOf(send(b, 'DELETE', uri, { headers: admin }))).toBe(204);
  expect(await statusOf(read(a, uri, admin))).toBe(404);
});

it('a service never loses one of many subscriptions that its replicas create at the same time', async () => {
  const created = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      send(index % 2 === 0 ? a : b, 'POST', subscriptions, {
        body: { Destination: `http://127.0.0.1:9/${index}`, Protocol: 'Redfish' },
        headers: admin,
      }),
    ),
  );
  expect(created.map(({ status }) => status)).toEqual(created.map(() => 201));
  for (const replica of [a, b])
    expect((await read(replica, subscriptions, admin)).body['Members']).toHaveLength(created.length);
});

it('a service delivers each event once, and still delivers events when replicas are killed under load', async () => {
  const { server, url, bodies } = await listen();
  const body = { Destination: url, Protocol: 'Redfish', RegistryPrefixes: ['Base'] };
  expect(await statusOf(send(a, 'POST', subscriptions, { body, headers: admin }))).toBe(201);
  const count = (text: string) => bodies.join().split(`"Message":"${text}"`).length - 1;
  const delivered = (text: string) =>
    waitFor(
      () => (count(text) > 0 ? true : undefined),
      () => `${text} was not delivered`,
    );
  const texts = Array.from({ length: 20 }, (_, index) => `event ${index}.`);
  await Promise.all(texts.map((text, index) => testEvent(index % 2 === 0 ? a : b, text)));
  for (const text of texts) await delivered(text);
  expect(texts.map(count)).toEqual(texts.map(() => 1));
  // Only one replica delivers events. The loop kills the first two replicas, so it also kills the replica that
  // delivers.
  const c = await service.start();
  for (const [victim, survivor] of [
    [a, b],
    [b, c],
  ] as const) {
    const names = Array.from({ length: 20 }, (_, index) => `event ${index} of ${survivor.url}`);
    const load = names.map((text) => testEvent(survivor, text));
    await victim.process.dispose();
    await Promise.all(load);
    for (const text of names) await delivered(text);
  }
  server.close();
});

it('a service keeps the subscriptions and continues the delivery if the store loses its content', async () => {
  const { server, url, bodies } = await listen();
  const body = { Destination: url, Protocol: 'Redfish', RegistryPrefixes: ['Base'] };
  const { headers } = await send(a, 'POST', subscriptions, { body, headers: admin });
  await service.redis.flush();
  for (const replica of [a, b])
    await waitFor(
      async () => ((await statusOf(read(replica, headers.get('location') ?? '', admin))) === 200 ? true : undefined),
      () => 'the subscription is gone',
    );
  await testEvent(b, 'after the loss');
  await waitFor(
    () => (bodies.join().includes('after the loss') ? true : undefined),
    () => 'the event was not delivered',
  );
  server.close();
});

it('a service delivers, after an outage of the store, the events that happened during the outage', async () => {
  const { server, url, bodies } = await listen();
  const body = { Destination: url, Protocol: 'Redfish', RegistryPrefixes: ['Base'] };
  expect(await statusOf(send(a, 'POST', subscriptions, { body, headers: admin }))).toBe(201);
  service.redis.pause();
  expect(await statusOf(testEvent(b, 'during the outage'))).toBe(204);
  expect(await statusOf(send(a, 'POST', subscriptions, { body, headers: admin }))).toBe(503);
  service.redis.resume();
  await waitFor(
    () => (bodies.join().includes('during the outage') ? true : undefined),
    () => 'the event was not delivered',
  );
  server.close();
});

it('a service continues a stream at another replica after the first one was killed', async () => {
  const before = await stream(a);
  await testEvent(a, 'the first event');
  const { EventId } = await arrived(before, 'the first event');
  await a.process.dispose();
  await testEvent(b, 'the second event');
  const after = await stream(b, EventId);
  await arrived(after, 'the second event');
  expect(withText(after, 'the first event')).toEqual([]);
});

it('a service reports a change of power only once, although all replicas observe the change', async () => {
  const events = await stream(a);
  const reset = `${system}/Actions/ComputerSystem.Reset`;
  expect(await statusOf(send(b, 'POST', reset, { body: { ResetType: 'ForceOff' }, headers: admin }))).toBe(204);
  await waitFor(
    async () => ((await read(a, system, admin)).body['PowerState'] === 'Off' ? true : undefined),
    () => 'replica a does not show the power-off',
  );
  await testEvent(a, 'the last event');
  await arrived(events, 'the last event');
  expect(events.filter(({ MessageId }) => MessageId.endsWith('.ResourcePoweredOff'))).toHaveLength(1);
});

it('a service applies a change of a report definition at every replica', async () => {
  const { body } = await read(a, `${root}/TelemetryService/MetricReportDefinitions`, admin);
  const [{ '@odata.id': uri }] = body['Members'] as [{ '@odata.id': string }]; // the cloud has one server
  const change = { Schedule: { RecurrenceInterval: 'PT7S' } };
  expect(await statusOf(send(b, 'PATCH', uri, { body: change, headers: admin }))).toBe(200);
  expect((await read(a, uri, admin)).body).toEqual((await read(b, uri, admin)).body);
  expect((await read(a, uri, admin)).body['Schedule']).toMatchObject(change.Schedule);
  const off = { ServiceEnabled: false };
  expect(await statusOf(send(a, 'PATCH', `${root}/TelemetryService`, { body: off, headers: admin }))).toBe(200);
  expect((await read(b, `${root}/TelemetryService`, admin)).body['ServiceEnabled']).toBe(false);
});

it('a service shows the same log at all replicas, also at a new one; a clear at one replica applies at all', async () => {
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
