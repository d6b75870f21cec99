/** All machines of the service, live. The list and the machine pages use this store. */
import { signal } from '@preact/signals';
import { redfishTexts } from '../../texts/index.js';
import { get, isExpanded, members } from './client.js';
import { isLive, onConnect, onEvents, type RedfishEvent } from './event-stream.js';
import { pollWithoutEvents } from './poll.js';
import { RedfishFailure } from './wire.js';

/** A machine (ComputerSystem), with the properties that the list needs. */
export interface Machine {
  readonly '@odata.id': string;
  readonly Id: string;
  readonly Name: string;
  readonly UUID?: string;
  readonly AssetTag?: string | null;
  readonly PowerState?: 'On' | 'Off' | 'PoweringOn' | 'PoweringOff' | 'Paused' | null;
  readonly Status?: { readonly State?: string | null; readonly Health?: 'OK' | 'Warning' | 'Critical' | null };
  readonly Boot?: {
    readonly BootSourceOverrideEnabled?: 'Once' | 'Continuous' | 'Disabled' | null;
    readonly BootSourceOverrideTarget?: string | null;
    readonly 'BootSourceOverrideTarget@Redfish.AllowableValues'?: readonly string[];
    readonly BootSourceOverrideMode?: 'UEFI' | 'Legacy' | null;
  };
  readonly ProcessorSummary?: { readonly Count?: number | null };
  readonly MemorySummary?: { readonly TotalSystemMemoryGiB?: number | null };
  readonly Links?: {
    readonly Chassis?: readonly { readonly '@odata.id': string }[];
    readonly ManagedBy?: readonly { readonly '@odata.id': string }[];
  };
  readonly Actions?: {
    readonly '#ComputerSystem.Reset'?: {
      readonly target: string;
      readonly 'ResetType@Redfish.AllowableValues'?: readonly string[];
    };
  };
}

/** The state of the store. `isComplete` is false until the last page of the first reading has arrived. */
export const machinesState = signal<{ readonly isComplete: boolean; readonly error: string | null }>({
  isComplete: false,
  error: null,
});

/** All machines by id. A machine that changes is a new object, so components can compare objects. */
export const machines = signal<ReadonlyMap<string, Machine>>(new Map());

const SYSTEMS = '/redfish/v1/Systems';
const PROPERTIES = [
  'Id',
  'Name',
  'UUID',
  'AssetTag',
  'PowerState',
  'Status',
  'Boot/BootSourceOverrideEnabled',
  'Boot/BootSourceOverrideTarget',
  'Boot/BootSourceOverrideTarget@Redfish.AllowableValues',
  'Boot/BootSourceOverrideMode',
  'ProcessorSummary/Count',
  'MemorySummary/TotalSystemMemoryGiB',
  'Links',
  'Actions',
];
/** Machines on a page of the list. */
const PAGE_SIZE = 200;
/** The first page fills a window, and needs a quarter of the time. */
const FIRST_SIZE = 50;
/** Machines that are read again at the same time. */
const READS_AT_ONCE = 4;
/** If more machines changed, reading the list is cheaper than reading each of them. */
const MANY_CHANGES = 60;
/**
 * An action causes several events. The machine is read once for all events within this time, in
 * milliseconds.
 */
const COLLECT_MS = 200;
/**
 * Pause after a reading of the list, as a multiple of the duration of the reading. Otherwise, many
 * events would cause too much work for the service.
 */
const PAUSE_FACTOR = 4;
/** The power states of events are kept at least this long, in milliseconds. No request takes longer. */
const KEPT_MS = 60_000;
/** Changes within this time are one update of the store, in milliseconds. */
const UPDATE_MS = 50;

/** The ids of the machines to read again. */
const changed = new Set<string>();
/** The latest power states in events. Answers to earlier requests do not have them yet. */
const powered = new Map<string, { readonly state: 'On' | 'Off'; readonly atMs: number }>();
let pumpTimer: ReturnType<typeof setTimeout> | null = null;
let listTimer: ReturnType<typeof setTimeout> | null = null;
/** Events and polls cause the next reading of the list at this time at the earliest. */
let listMs = 0;
/** Changes that are not in `machines` yet; null: the machine is gone. */
const updates = new Map<string, Machine | null>();
let updateTimer: ReturnType<typeof setTimeout> | null = null;
/** Number of machines that are being read. */
let running = 0;
let reading: Promise<void> | null = null;
let mustReadAgain = false;

/** Starts to read the machines and to follow their events. Returns a function that stops both. */
export function startMachines(): () => void {
  const stops = [
    onConnect(() => void readMachines()),
    onEvents((events) => {
      for (const event of events) apply(event);
    }),
    pollWithoutEvents(pollMachines, () => listMs - performance.now()),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * Reads the list if the service root can be read and no stream of events is open. Otherwise, the machines keep their
 * last state.
 */
async function pollMachines(): Promise<void> {
  const answers = await get('/redfish/v1/').then(
    () => true,
    () => false,
  );
  if (answers && !isLive.value) await (reading ?? readMachines());
}

/** Empties the store, so that the next user does not see machines of the previous user. */
export function forgetMachines(): void {
  if (listTimer !== null) clearTimeout(listTimer);
  listTimer = null;
  changed.clear();
  updates.clear();
  powered.clear();
  machines.value = new Map();
  machinesState.value = { isComplete: false, error: null };
}

/** Reads all machines. Calls during a reading return its promise, and cause one further reading. */
export function readMachines(): Promise<void> {
  if (reading !== null) {
    mustReadAgain = true;
    return reading;
  }
  reading = readAll().finally(() => {
    reading = null;
    if (!mustReadAgain) return;
    mustReadAgain = false;
    void readMachines();
  });
  return reading;
}

/** Reads one machine again, for example after an action of the user. */
export function readMachineAgain(id: string): void {
  changed.add(id);
  pump();
}

async function readAll(): Promise<void> {
  changed.clear();
  const seen = new Set<string>();
  let unread = 0;
  const beginMs = performance.now();
  for (const [id, { atMs }] of powered) if (atMs < beginMs - KEPT_MS) powered.delete(id);
  let askedMs = beginMs;
  try {
    for await (const page of members<Machine>(SYSTEMS, {
      select: PROPERTIES,
      pageSize: PAGE_SIZE,
      firstSize: FIRST_SIZE,
    })) {
      for (const machine of page) {
        seen.add(idOf(machine));
        // A machine that the service could not read keeps its last state.
        if (isExpanded(machine)) accept(machine, askedMs);
        else unread += 1;
      }
      flush();
      askedMs = performance.now();
    }
    for (const id of machines.value.keys()) if (!seen.has(id) && !changed.has(id)) update(id, null);
    flush();
    machinesState.value = { isComplete: true, error: unread === 0 ? null : redfishTexts.unreadMachines(unread) };
  } catch (error) {
    machinesState.value = { ...machinesState.value, error: error instanceof Error ? error.message : String(error) };
  }
  listMs = performance.now() + PAUSE_FACTOR * (performance.now() - beginMs);
}

/** Returns the id of a machine, also if its member is only a link. */
const idOf = ({ '@odata.id': uri }: Pick<Machine, '@odata.id'>): string =>
  decodeURIComponent(uri.split('/').at(-1) ?? '');

/** Applies an event: a removal and the power state at once, everything else by reading the machine again. */
function apply({ MessageId, OriginOfCondition }: RedfishEvent): void {
  const origin = OriginOfCondition?.['@odata.id'] ?? '';
  const [, kind = '', id = ''] = /^\/redfish\/v1\/(Systems|Managers|Chassis)\/([^/]+)/.exec(origin) ?? [];
  if (id === '') return;
  const known = updates.get(id) ?? machines.value.get(id);
  const name = MessageId.split('.').at(-1);
  if (kind === 'Systems' && origin === `${SYSTEMS}/${id}`) {
    if (name === 'ResourceRemoved') {
      changed.delete(id);
      update(id, null);
      return;
    }
    const state = name === 'ResourcePoweredOn' ? 'On' : name === 'ResourcePoweredOff' ? 'Off' : null;
    if (state !== null) powered.set(id, { state, atMs: performance.now() });
    if (known && state !== null) update(id, { ...known, PowerState: state });
  }
  // A chassis that does not belong to a known machine is a host. All its machines may have changed.
  if (kind === 'Chassis' && known === undefined) readListSoon();
  else if (kind === 'Systems' || known) {
    changed.add(id);
    pumpTimer ??= setTimeout(pump, COLLECT_MS);
  }
}

/** Reads the list after the pause that follows the last reading. */
function readListSoon(): void {
  listTimer ??= setTimeout(
    () => {
      listTimer = null;
      if (reading === null) void readMachines();
      else void reading.finally(readListSoon);
    },
    Math.max(0, listMs - performance.now()),
  );
}

function pump(): void {
  pumpTimer = null;
  if (changed.size > MANY_CHANGES) {
    readListSoon();
    return;
  }
  while (running < READS_AT_ONCE) {
    const [id] = changed;
    if (id === undefined) return;
    changed.delete(id);
    running += 1;
    void readOne(id).finally(() => {
      running -= 1;
      pump();
    });
  }
}

async function readOne(id: string): Promise<void> {
  const askedMs = performance.now();
  try {
    accept(await get<Machine>(`${SYSTEMS}/${encodeURIComponent(id)}?$select=${PROPERTIES.join(',')}`), askedMs);
  } catch (error) {
    if (error instanceof RedfishFailure && error.status === 404) update(id, null);
    // After any other failure, the machine keeps its last state until its next event, or the next reading of the list.
  }
}

/** Stores an answer. A power state of an event since the request is newer. */
function accept(machine: Machine, askedMs: number): void {
  const event = powered.get(machine.Id);
  const isNewer = event !== undefined && event.atMs >= askedMs;
  update(machine.Id, isNewer ? { ...machine, PowerState: event.state } : machine);
}

function update(id: string, machine: Machine | null): void {
  updates.set(id, machine);
  updateTimer ??= setTimeout(flush, UPDATE_MS);
}

function flush(): void {
  if (updateTimer !== null) clearTimeout(updateTimer);
  updateTimer = null;
  if (updates.size === 0) return;
  const next = new Map(machines.value);
  for (const [id, machine] of updates) {
    if (machine === null) next.delete(id);
    else next.set(id, machine);
  }
  updates.clear();
  machines.value = next;
}
