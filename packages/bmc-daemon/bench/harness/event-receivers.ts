/** Receivers of events, as a controller has them: a stream of Server-Sent Events, and a webhook. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventsIn, streamEvents, type StreamedEvent } from '../fleet/event-stream.js';

/** A receiver of events. */
export interface EventReceiver {
  /** URIs of the resources about which an event has arrived. */
  readonly origins: ReadonlySet<string>;
  close(): Promise<void>;
}

/** Returns a function that adds the origin of an event. */
function collector(origins: Set<string>): (event: StreamedEvent) => void {
  return ({ OriginOfCondition: origin }) => {
    if (origin !== undefined) origins.add(origin['@odata.id']);
  };
}

/** Opens a stream of Server-Sent Events. */
export async function openStream(url: string): Promise<EventReceiver> {
  const origins = new Set<string>();
  const close = await streamEvents(url, collector(origins));
  return {
    origins,
    close: () => {
      close();
      return Promise.resolve();
    },
  };
}

/** Starts a server, and subscribes it to the events. */
export async function openWebhook(url: string): Promise<EventReceiver> {
  const origins = new Set<string>();
  const server = createServer((incoming, answer) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    incoming.on('end', () => {
      eventsIn(body).forEach(collector(origins));
      answer.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has such an address
  const subscription = { Destination: `http://127.0.0.1:${port}/events`, Protocol: 'Redfish' };
  const location = await post(`${url}/redfish/v1/EventService/Subscriptions`, subscription);
  return {
    origins,
    close: async () => {
      const removal = request(new URL(location, url), { method: 'DELETE' }).end();
      await once(removal, 'response');
      removal.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Creates a resource. @returns its URI. */
async function post(url: string, value: unknown): Promise<string> {
  const created = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  });
  await created.text();
  const location = created.headers.get('location');
  if (location === null) throw new Error(`creating a resource at ${url}: status ${created.status}`);
  return location;
}
