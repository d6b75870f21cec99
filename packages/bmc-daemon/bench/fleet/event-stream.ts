/** The events that a daemon streams. */
import { get } from 'node:http';

/** Changes of the power state of each machine by UUID, oldest first. */
export type PowerChanges = Map<string, ('On' | 'Off')[]>;

/** Adds a change. */
export function addChange(changes: PowerChanges, uuid: string, change: 'On' | 'Off'): void {
  const known = changes.get(uuid);
  if (known === undefined) changes.set(uuid, [change]);
  else known.push(change);
}

/** An event, as the service sends it. */
export interface StreamedEvent {
  readonly MessageId: string;
  readonly OriginOfCondition?: { readonly '@odata.id': string };
}

/** Returns the events in the body of a message of the service. */
export function eventsIn(body: string): readonly StreamedEvent[] {
  // The service sends this form.
  return (JSON.parse(body) as { readonly Events?: readonly StreamedEvent[] }).Events ?? [];
}

/**
 * Opens the event stream of a daemon, and passes its events to `receive`. Prints a line if the service ends the
 * stream.
 * @returns a function that closes the stream.
 */
export async function streamEvents(url: string, receive: (event: StreamedEvent) => void): Promise<() => void> {
  let text = '';
  const onChunk = (chunk: string): void => {
    const records = (text + chunk).split('\n\n');
    text = records.pop() ?? '';
    for (const record of records) {
      const data = [...record.matchAll(/^data:(.*)$/gm)].map(([, line = '']) => line).join('\n');
      if (data !== '') eventsIn(data).forEach(receive);
    }
  };
  return await new Promise((resolve, reject) => {
    const request = get(`${url}/redfish/v1/EventService/SSE`, (response) => {
      response.setEncoding('utf8').on('data', onChunk);
      let isOpen = true;
      response.on('error', () => undefined); // The benchmark or the service has ended.
      response.on('close', () => {
        if (isOpen) console.log('the service ended the stream of events');
      });
      resolve(() => {
        isOpen = false;
        request.destroy();
      });
    }).on('error', reject);
  });
}

/**
 * Opens the event stream of a daemon. Prints a line if the service ends the stream, or drops events of it.
 * @returns the changes, to which later events are added, and a function that closes the stream.
 */
export async function streamPower(url: string): Promise<{ readonly changes: PowerChanges; close(): void }> {
  const changes: PowerChanges = new Map();
  const close = await streamEvents(url, ({ MessageId: id, OriginOfCondition: origin }) => {
    const uuid = origin?.['@odata.id'].split('/').at(-1) ?? '';
    if (id.endsWith('.ResourcePoweredOn')) addChange(changes, uuid, 'On');
    if (id.endsWith('.ResourcePoweredOff')) addChange(changes, uuid, 'Off');
    // After a restart, libvirt's test driver has no machines until the benchmark defines them. Meanwhile the
    // service may report them as removed. A removed machine that was on counts as off.
    if (id.endsWith('.ResourceRemoved') && changes.get(uuid)?.at(-1) === 'On') addChange(changes, uuid, 'Off');
    if (id.endsWith('.EventBufferExceeded')) console.log('the service dropped events of the slow stream');
  });
  return { changes, close };
}
