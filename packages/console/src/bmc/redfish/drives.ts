/** The virtual media drives of machines, read when a component needs them, then live. */
import { signal } from '@preact/signals';
import { get, isExpanded, post } from './client.js';
import { onConnect, onEvents } from './event-stream.js';
import type { Drive } from './machine-facts.js';
import { completeTask } from './tasks.js';

/** The drives of the machines that have been read, by the machine's id. */
export const drives = signal<ReadonlyMap<string, readonly Drive[]>>(new Map());

const READS_AT_ONCE = 4;
/** Answers within this time are one update, in milliseconds. */
const UPDATE_MS = 100;

/** Pause between the last change of the visible machines and the read of their drives, in milliseconds. */
const VISIBLE_MS = 150;

/** Machines to read, in order. */
let wanted = new Set<string>();
/** Machines whose drives are being read. */
const pending = new Set<string>();
/** Answers that are not in `drives` yet. */
const answers = new Map<string, readonly Drive[]>();
let visibleTimer: ReturnType<typeof setTimeout> | undefined;
let timer: ReturnType<typeof setTimeout> | null = null;

/** Follows changes of the drives that have been read. Returns a function that stops this and forgets all drives. */
export function startDrives(): () => void {
  const stops = [
    // Changes may have happened without an event while the stream was interrupted.
    onConnect(() => wantDrives(drives.value.keys(), { isAgain: true })),
    onEvents((events) => {
      for (const { OriginOfCondition } of events) {
        const origin = OriginOfCondition?.['@odata.id'] ?? '';
        const id = /^\/redfish\/v1\/(?:Systems|Managers)\/([^/]+)\/VirtualMedia/.exec(origin)?.[1];
        if (id !== undefined && drives.value.has(id)) wantDrives([id], { isAgain: true });
      }
    }),
  ];
  return () => {
    for (const stop of stops) stop();
    clearTimeout(visibleTimer);
    wanted = new Set();
    drives.value = new Map();
  };
}

/**
 * Reads the drives of machines, a few at a time.
 * @param options `isAgain`: also those that have been read.
 */
export function wantDrives(ids: Iterable<string>, { isAgain = false }: { readonly isAgain?: boolean } = {}): void {
  for (const id of ids) if (isAgain || !(drives.value.has(id) || answers.has(id) || pending.has(id))) wanted.add(id);
  pump();
}

/**
 * Reads the drives of the visible machines when there was no further call for `VISIBLE_MS`: the user has stopped
 * scrolling or typing.
 */
export function wantVisibleDrives(ids: readonly string[]): void {
  clearTimeout(visibleTimer);
  visibleTimer = setTimeout(() => wantDrives(ids), VISIBLE_MS);
}

/**
 * Reads the drives of a machine now, and stores them in `drives` too.
 * @throws {RedfishFailure} as {@link get}.
 */
export async function readDrives(id: string): Promise<readonly Drive[]> {
  const path = `/redfish/v1/Systems/${encodeURIComponent(id)}/VirtualMedia?$expand=.`;
  const { Members } = await get<{ readonly Members: readonly Drive[] }>(path);
  const read = Members.filter(isExpanded);
  answers.set(id, read);
  timer ??= setTimeout(flush, UPDATE_MS);
  return read;
}

/**
 * Ejects the image of a drive, and resolves when it is ejected.
 * @throws {RedfishFailure} as {@link post} and {@link completeTask}.
 */
export async function ejectImage(drive: Drive): Promise<void> {
  const { target } = drive.Actions?.['#VirtualMedia.EjectMedia'] ?? {};
  await completeTask(await post(target ?? `${drive['@odata.id']}/Actions/VirtualMedia.EjectMedia`));
}

function pump(): void {
  while (pending.size < READS_AT_ONCE) {
    const [id] = wanted;
    if (id === undefined) return;
    wanted.delete(id);
    pending.add(id);
    readDrives(id)
      // After a failure, the machine counts as one without drives: most such machines have none, or are gone. The next
      // event of the machine's drives reads them again.
      .catch(() => answers.set(id, []))
      .finally(() => {
        pending.delete(id);
        timer ??= setTimeout(flush, UPDATE_MS);
        pump();
      });
  }
}

function flush(): void {
  timer = null;
  drives.value = new Map([...drives.value, ...answers]);
  answers.clear();
}
