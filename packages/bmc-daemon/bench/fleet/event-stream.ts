/** The power events that a daemon streams. */
import { get } from 'node:http';

/** Changes of the power state of each machine, oldest first. */
export type PowerChanges = Map<string, ('On' | 'Off')[]>;

/** Adds a change. */
export function addChange(changes: PowerChanges, uuid: string, change: 'On' | 'Off'): void {
  const known = changes.get(uuid);
  if (known === undefined) changes.set(uuid, [change]);
  else known.push(change);
}

interface EventBody {
  readonly Events?: readonly {
    readonly MessageId: string;
    readonly OriginOfCondition?: { readonly '@odata.id': string };
  }[];
}

/**
 * Opens the event stream of a daemon. Prints a line if the service ends the stream, or drops events of it.
 * @returns the changes, to which later events are added, and a function that closes the stream.
 */
export async function streamPower(url: string): Promise<{ readonly changes: PowerChanges; close(): void }> {
  const changes: PowerChanges = new Map();
  let text = '';
  const receive = (chunk: string): void => {
    const records = (text + chunk).split('\n\n');
    text = records.pop() ?? '';
    for (const record of records) {
      const data = [...record.matchAll(/^data:(.*)$/gm)].map(([, line = '']) => line).join('\n');
      if (data === '') continue;
      // The service sends this form.
      for (const { MessageId: id, OriginOfCondition: origin } of (JSON.parse(data) as EventBody).Events ?? []) {
        const uuid = origin?.['@odata.id'].split('/').at(-1) ?? '';
        if (id.endsWith('.ResourcePoweredOn')) addChange(changes, uuid, 'On');
        if (id.endsWith('.ResourcePoweredOff')) addChange(changes, uuid, 'Off');
        // After a restart, libvirt's test driver has no machines until the benchmark defines them. Meanwhile the
        // service may report them as removed. A removed machine that was on counts as off.
        if (id.endsWith('.ResourceRemoved') && changes.get(uuid)?.at(-1) === 'On') addChange(changes, uuid, 'Off');
        if (id.endsWith('.EventBufferExceeded')) console.log('the service dropped events of the slow stream');
      }
    }
  };
  return await new Promise((resolve, reject) => {
    const request = get(`${url}/redfish/v1/EventService/SSE`, (response) => {
      response.setEncoding('utf8').on('data', receive);
      let isOpen = true;
      response.on('error', () => undefined); // The end of the benchmark, or of the service.
      response.on('close', () => {
        if (isOpen) console.log('the service ended the stream of events');
      });
      const close = (): void => {
        isOpen = false;
        request.destroy();
      };
      resolve({ changes, close });
    }).on('error', reject);
  });
}
