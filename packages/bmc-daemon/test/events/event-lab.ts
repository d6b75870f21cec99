/**
 * The service with all event features, a listener for pushed events, and a client of the event
 * stream.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Access } from '../../src/auth/access.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { openEventServices } from '../../src/events/event-services.js';
import { createEventBus } from '../../src/events/event-bus.js';
import { logsOf, subscriptionsOf } from '../../src/events/machine-view.js';
import { publishWrites } from '../../src/events/publishers/published-writes.js';
import { machineScoping } from '../../src/machine-scope.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { createTaskStore } from '../../src/redfish/tasks/task-store.js';
import { currentUri } from '../../src/resources/current-uri.js';
import { resourcesOf, streams, type AllServices } from '../../src/features.js';
import { telemetryOf } from '../../src/telemetry/machine-view.js';
import { openTelemetry } from '../../src/telemetry/telemetry.js';
import { serve, type Client, type Received } from '../support/client.js';
import { testServices } from '../support/services.js';

/** The JSON object of an answer or of an event. */
export type Body = Readonly<Record<string, unknown>>;

/** A record of an Event. */
export type EventRecord = Body;

/** The service, and requests to it. `logged` has the texts of the log so far. */
export interface Lab {
  readonly client: Client;
  readonly services: AllServices;
  /** Returns the body of a GET. @throws {Error} if the status is not 200. */
  get(path: string): Promise<Body>;
  post(path: string, body?: object): Promise<Received>;
  /** Publishes an event of a machine with the given text. */
  publish(uuid: string, detail: string): void;
  readonly logged: readonly string[];
  close(): Promise<void>;
}

/** Creates a folder, which the caller removes. */
export function newFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'rackless-events-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/**
 * Starts the service. The caller starts and closes the driver.
 * @param options `waitMs`: time until an action becomes a task, default a minute. `access`: default
 *   none, so that all requests are allowed.
 */
export async function openLab(
  driver: HypervisorDriver,
  stateDir: string,
  { waitMs = 60_000, access }: { readonly waitMs?: number; readonly access?: Access } = {},
): Promise<Lab> {
  const logged: string[] = [];
  const note = (text: string, fields?: Readonly<Record<string, unknown>>): void => {
    logged.push(fields === undefined ? text : `${text} ${String(fields['error'])}`);
  };
  const log = { info: note, warn: note, error: note };
  const bus = createEventBus((error) => {
    throw error;
  });
  const tasks = createTaskStore({ limit: 100, now: () => new Date() });
  const operations = { tasks, waitMs, onTaskFailed: (error: Error) => note('task failed', { error }) };
  const plain = testServices(driver, { events: bus, operations, ...(access === undefined ? {} : { access }) });
  plain.subscriptions.close();
  await plain.logs.close();
  const { serviceUuid } = plain;
  // libvirt's test driver has no statistics.
  const reports =
    driver.statistics === undefined
      ? null
      : openTelemetry({ driver, stateDir, serviceUuid, now: () => new Date(), log });
  if (reports !== null) plain.telemetry.close();
  const telemetry = reports ?? plain.telemetry;
  const events = openEventServices({
    bus,
    driver,
    access: plain.access,
    tasks,
    reports,
    resources: resourcesOf(driver),
    stateDir,
    serviceUuid,
    log,
  });
  const { subscriptions, logs, resourceTypes } = events;
  const services: AllServices = { ...plain, subscriptions, logs, resourceTypes, telemetry };
  const pipeline = createPipeline({
    resources: resourcesOf(driver),
    streams,
    services,
    authenticate: access?.authenticate ?? withoutLogin,
    strict: true,
    currentUri: (uri) => currentUri(uri, services.settings),
    onChange: publishWrites(bus),
    scoping: machineScoping({
      services,
      forMachine: (uuid) => ({
        logs: logsOf(logs, uuid),
        subscriptions: subscriptionsOf(subscriptions, uuid),
        telemetry: telemetryOf(telemetry, uuid),
      }),
    }),
  });
  let count = 0;
  const client = await serve((incoming, response) => void pipeline(incoming, response, String((count += 1))));
  return {
    client,
    services,
    logged,
    get: async (path) => {
      const { status, json, text } = await client.get(path);
      if (status !== 200) throw new Error(`GET ${path}: ${status} ${text}`);
      return json as Body; // Every resource is an object.
    },
    post: (path, body) => client.send('POST', path, body === undefined ? {} : { body }),
    publish: (uuid, detail) =>
      bus.publish({
        messageId: 'ResourceEvent.1.4.ResourceChanged',
        messageArgs: [],
        severity: 'OK',
        origin: `/redfish/v1/Systems/${uuid}`,
        system: uuid,
        actor: null,
        time: new Date(),
        detail,
      }),
    close: async () => {
      subscriptions.closeStreams();
      await client.close();
      telemetry.close();
      await events.close();
    },
  };
}

/** Waits for a condition. @throws {Error} after two minutes. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waiting for ${what}: it did not happen`);
    await sleep(10);
  }
}

/** A server that receives pushed events. */
export interface PushListener {
  readonly url: string;
  /** Payloads in the order of arrival. */
  readonly payloads: readonly Body[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** Returns the records of all payloads. */
  records(): readonly EventRecord[];
  /** The status of later answers; `never`: no answers. */
  answer: number | 'never';
  /**
   * The body of later answers. `endless`: it never ends. `broken`: the connection breaks after its first byte.
   * Undefined: no body.
   */
  answerBody: Buffer | 'endless' | 'broken' | undefined;
  close(): Promise<void>;
}

/** Opens a listener at a free port of 127.0.0.1, or at the given port. The caller closes it. */
export async function openListener(port = 0): Promise<PushListener> {
  const payloads: Body[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      headers.push(incoming.headers);
      payloads.push(JSON.parse(Buffer.concat(chunks).toString()) as Body); // The tests check the payload.
      if (listener.answer === 'never') return;
      response.writeHead(listener.answer);
      const { answerBody } = listener;
      if (answerBody === 'endless') response.write('x');
      else if (answerBody === 'broken') response.write('x', () => response.destroy());
      else response.end(answerBody);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const listener: PushListener = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events?token=t`, // The address of a TCP server is an object.
    payloads,
    headers,
    records: () => payloads.flatMap(recordsOf),
    answer: 204,
    answerBody: undefined,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return listener;
}

/** Returns the records of a payload. */
export function recordsOf(payload: Body): readonly EventRecord[] {
  return payload['Events'] as readonly EventRecord[]; // The schema requires this property.
}

/** Returns the keys of records, such as `ResourcePoweredOff`. */
export function keysOf(records: readonly EventRecord[]): readonly string[] {
  return records.map(({ MessageId }) => String(MessageId).split('.').at(-1) ?? '');
}

/** An open event stream, and everything that it has received so far. */
export interface StreamClient {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly ids: readonly string[];
  readonly payloads: readonly Body[];
  records(): readonly EventRecord[];
  /** Returns everything received so far. */
  text(): string;
  readonly ended: boolean;
  /** Stops reading; the connection stays open. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens the stream with the given query and headers. Returns when the headers of the answer, even an error, arrive. */
export async function openStream(
  { port }: Pick<Client, 'port'>,
  query = '',
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamClient> {
  const outgoing = request({
    host: '127.0.0.1',
    port,
    path: `/redfish/v1/EventService/SSE${query}`,
    headers: { Accept: 'text/event-stream', ...headers },
    agent: false,
  });
  outgoing.end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  outgoing.on('error', () => undefined);
  incoming.on('error', () => undefined);
  let text = '';
  let ended = false;
  incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
  incoming.on('close', () => (ended = true));
  const blocks = () => text.split('\n\n').slice(0, -1);
  const lines = (name: string): readonly string[] =>
    blocks().flatMap((block) => block.split('\n').filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2))); // prettier-ignore
  const payloads = (): readonly Body[] => lines('data').map((line) => JSON.parse(line) as Body); // The service sends objects.
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    get ids() {
      return lines('id');
    },
    get payloads() {
      return payloads();
    },
    records: () => payloads().flatMap(recordsOf),
    text: () => text,
    get ended() {
      return ended;
    },
    pause: () => void incoming.pause(),
    resume: () => void incoming.resume(),
    close: () => void outgoing.destroy(),
  };
}
