/** Publishes the machine changes that a driver reports. */
import type { MachineChange, MachineChangeKind } from '../../drivers/machine-change.js';
import type { Severity } from '../../redfish/messages/base-registry.js';
import { resourceEventRegistry, type resourceEventTable } from '../../redfish/messages/resource-event-registry.js';
import type { EventBus, ServiceEvent } from '../event-bus.js';

type Key = keyof typeof resourceEventTable;

interface Meaning {
  readonly key: Key;
  /** Returns the arguments, from the machine's name. */
  readonly args: (name: string) => readonly string[];
  readonly severity?: Severity;
  readonly detail?: string;
}

const itself = (name: string): readonly string[] => [name];
const none = (): readonly string[] => [];

const meanings: Readonly<Record<Exclude<MachineChangeKind, 'changed' | 'media'>, Meaning>> = {
  defined: { key: 'ResourceCreated', args: none },
  undefined: { key: 'ResourceRemoved', args: none },
  started: { key: 'ResourcePoweredOn', args: itself },
  stopped: { key: 'ResourcePoweredOff', args: itself },
  shuttingDown: { key: 'ResourcePoweringOff', args: itself },
  paused: { key: 'ResourcePaused', args: itself },
  resumed: { key: 'ResourceStateChanged', args: (name) => [name, 'Enabled'], detail: 'The machine resumed.' },
  suspended: {
    key: 'ResourceStateChanged',
    args: (name) => [name, 'StandbyOffline'],
    detail: 'The guest is suspended.',
  },
  crashed: { key: 'ResourceStatusChangedCritical', args: (name) => [name, 'Critical'], severity: 'Critical' },
  rebooted: { key: 'ResourceStateChanged', args: (name) => [name, 'Starting'], detail: 'The machine was reset.' },
};

interface MachineEventsOptions {
  readonly events: EventBus;
  /**
   * How long a change waits for the event of the request that may have caused it. Default: 500 ms.
   */
  readonly settleMs?: number;
}

/** The driver's listener, with its close function. */
export interface MachineEvents {
  readonly onChange: (change: MachineChange) => void;
  close(): void;
}

/**
 * Creates the listener. libvirt reports every change of a definition. Most changes are requests of
 * clients, whose own event has more data. So `changed` and `media` wait for `settleMs`. The listener
 * drops them if a client's event of the same resource was published shortly before or meanwhile. It
 * publishes repeated changes within this time once.
 */
export function publishMachineChanges({ events, settleMs = 500 }: MachineEventsOptions): MachineEvents {
  const waiting = new Map<string, NodeJS.Timeout>();
  /** When the last event with a client was published, by key. */
  const requested = new Map<string, number>();

  const forget = (key: string): void => {
    clearTimeout(waiting.get(key));
    waiting.delete(key);
  };
  const unsubscribe = events.subscribe(({ messageId, origin, system, actor }) => {
    if (actor === null || system === null || !messageId.endsWith('.ResourceChanged')) return;
    const now = performance.now();
    for (const [key, since] of requested) if (now - since > settleMs) requested.delete(key);
    for (const key of keysOf(origin, system)) {
      requested.set(key, now);
      forget(key);
    }
  });
  const publishLater = (key: string, event: Omit<ServiceEvent, 'time'>): void => {
    const since = requested.get(key);
    if (waiting.has(key) || (since !== undefined && performance.now() - since <= settleMs)) return;
    const time = new Date();
    const timer = setTimeout(() => {
      waiting.delete(key);
      events.publish({ ...event, time });
    }, settleMs);
    timer.unref();
    waiting.set(key, timer);
  };

  return {
    onChange({ kind, uuid, name, reason }) {
      const origin = `/redfish/v1/Systems/${uuid}`;
      const base = { severity: 'OK', system: uuid, actor: null } as const;
      if (kind === 'changed' || kind === 'media') {
        const event = { ...base, messageId: `${resourceEventRegistry}.ResourceChanged`, messageArgs: [] };
        if (kind === 'changed')
          publishLater(uuid, { ...event, origin, detail: 'The definition or the devices of the machine changed.' });
        else
          publishLater(`${uuid} media`, {
            ...event,
            origin: `${origin}/VirtualMedia`,
            detail: 'An image was inserted or ejected.',
          });
        return;
      }
      // An event of a removed machine would create its log again.
      if (kind === 'undefined') for (const key of [uuid, `${uuid} media`]) forget(key);
      const { key, args, severity = 'OK', detail } = meanings[kind];
      const sentences = [detail, reason === undefined ? undefined : `${capitalized(reason)}.`];
      const text = sentences.filter((sentence) => sentence !== undefined).join(' ');
      events.publish({
        ...base,
        messageId: `${resourceEventRegistry}.${key}`,
        messageArgs: args(name),
        severity,
        origin,
        time: new Date(),
        ...(text === '' ? {} : { detail: text }),
      });
    },
    close() {
      unsubscribe();
      for (const timer of waiting.values()) clearTimeout(timer);
    },
  };
}

/**
 * Returns the keys that a client's change explains: any change explains a new definition; a change
 * of a drive also explains a new image.
 */
function keysOf(origin: string, system: string): readonly string[] {
  return origin.includes('/VirtualMedia') ? [system, `${system} media`] : [system];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
