/** Publishes the machine changes that a driver reports. */
import type { MachineChange, MachineChangeKind } from '../../drivers/machine-change.js';
import type { Severity } from '../../redfish/messages/base-registry.js';
import { resourceEventRegistry, type resourceEventTable } from '../../redfish/messages/resource-event-registry.js';
import type { EventBus, ServiceEvent } from '../event-bus.js';

type MessageKey = keyof typeof resourceEventTable;

/** The message of a machine change. */
interface ChangeMessage {
  readonly messageKey: MessageKey;
  /** Returns the arguments, from the machine's name. */
  readonly args: (name: string) => readonly string[];
  readonly severity?: Severity;
  readonly detail?: string;
}

const nameOnly = (name: string): readonly string[] => [name];
const noArguments = (): readonly string[] => [];

const changeMessages: Readonly<Record<Exclude<MachineChangeKind, 'changed' | 'media'>, ChangeMessage>> = {
  defined: { messageKey: 'ResourceCreated', args: noArguments },
  undefined: { messageKey: 'ResourceRemoved', args: noArguments },
  started: { messageKey: 'ResourcePoweredOn', args: nameOnly },
  stopped: { messageKey: 'ResourcePoweredOff', args: nameOnly },
  shuttingDown: { messageKey: 'ResourcePoweringOff', args: nameOnly },
  paused: { messageKey: 'ResourcePaused', args: nameOnly },
  resumed: { messageKey: 'ResourceStateChanged', args: (name) => [name, 'Enabled'], detail: 'The machine resumed.' },
  suspended: {
    messageKey: 'ResourceStateChanged',
    args: (name) => [name, 'StandbyOffline'],
    detail: 'The guest is suspended.',
  },
  crashed: { messageKey: 'ResourceStatusChangedCritical', args: (name) => [name, 'Critical'], severity: 'Critical' },
  rebooted: {
    messageKey: 'ResourceStateChanged',
    args: (name) => [name, 'Starting'],
    detail: 'The machine was reset.',
  },
  moved: { messageKey: 'ResourceChanged', args: noArguments, detail: 'The machine is on another host now.' },
};

interface MachineEventsOptions {
  readonly events: EventBus;
  /**
   * How long `changed` and `media` wait for the event of the request that may have caused them. Default: 500 ms.
   */
  readonly settleMs?: number;
}

/** The driver's listener, with its close function. */
export interface MachineEvents {
  readonly onChange: (change: MachineChange) => void;
  /** Drops the changes that wait for `settleMs`. */
  close(): void;
}

/**
 * Creates the listener. libvirt reports every change of a definition. Most changes are caused by
 * requests of clients, and the event of such a request has more data. So `changed` and `media` wait
 * for `settleMs`. The listener drops them if a client's change of the machine was published during this time, or
 * within `settleMs` before it. The listener drops `media` only if the client changed VirtualMedia. For several
 * changes during the wait, it publishes one event.
 */
export function publishMachineChanges({ events, settleMs = 500 }: MachineEventsOptions): MachineEvents {
  /** Timers of waiting changes by key: the UUID for `changed`, `UUID media` for `media`. */
  const waiting = new Map<string, NodeJS.Timeout>();
  /** When the last ResourceChanged of a client's request was published, by the same keys. */
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
      // Drops the waiting changes of a removed machine: their events would create a new log for it.
      if (kind === 'undefined') for (const key of [uuid, `${uuid} media`]) forget(key);
      const { messageKey, args, severity = 'OK', detail } = changeMessages[kind];
      const sentences = [detail, reason === undefined ? undefined : `${capitalized(reason)}.`];
      const text = sentences.filter((sentence) => sentence !== undefined).join(' ');
      events.publish({
        ...base,
        messageId: `${resourceEventRegistry}.${messageKey}`,
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
 * Returns the keys of the driver's changes that a client's change may have caused. Any change of a machine may
 * cause `changed`. A change of VirtualMedia may also cause `media`.
 */
function keysOf(origin: string, system: string): readonly string[] {
  return origin.includes('/VirtualMedia') ? [system, `${system} media`] : [system];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
