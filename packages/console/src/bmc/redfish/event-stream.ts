/** The service's events (Server-Sent Events), read with `fetch`, because `EventSource` cannot send a token. */
import { signal } from '@preact/signals';
import { whenAttended } from './activity.js';
import { openStream } from './client.js';
import { anyOf } from './wire.js';

/** An event of the service. */
export interface RedfishEvent {
  readonly MessageId: string;
  readonly Message: string;
  readonly MessageArgs?: readonly string[];
  readonly MessageSeverity?: string;
  readonly EventTimestamp?: string;
  readonly OriginOfCondition?: { readonly '@odata.id': string };
}

/** Whether the stream of events is open. */
export const isLive = signal(false);

type Listener = (events: readonly RedfishEvent[]) => void;

const eventListeners = new Set<Listener>();
const connectListeners = new Set<() => void>();

const URI = '/redfish/v1/EventService/SSE';
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** A stream without any byte for this time is dead: the service sends a comment every 15 s. */
const SILENCE_MS = 40_000;

/** Calls the listener with events when they arrive. Returns a function that removes the listener. */
export function onEvents(listener: Listener): () => void {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

/**
 * Calls the listener after each connect, so that it can read what it missed. Returns a function that removes the
 * listener.
 */
export function onConnect(listener: () => void): () => void {
  connectListeners.add(listener);
  return () => connectListeners.delete(listener);
}

/** Reads events until the signal aborts. Connects again after each interruption, while the user attends to the page. */
export async function runEventStream(until: AbortSignal): Promise<void> {
  let lastId: string | null = null;
  for (let failures = 0; ; failures += 1) {
    try {
      for await (const { id, data } of connect(lastId, until)) {
        failures = 0;
        if (id !== null) lastId = id;
        const { Events = [] } = JSON.parse(data) as { readonly Events?: readonly RedfishEvent[] }; // an Event of Redfish
        for (const listener of eventListeners) listener(Events);
      }
    } catch {
      // Each failure leads to the next attempt. The page shows that it is not live.
    }
    isLive.value = false;
    if (until.aborted) return;
    await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS), until);
    await whenAttended(until);
  }
}

/**
 * Opens the stream once, and reads it until it ends.
 * @throws as {@link openStream}; the error of `fetch` if the stream breaks or is silent for too long.
 */
async function* connect(lastId: string | null, until: AbortSignal): AsyncGenerator<RawEvent> {
  const silence = new AbortController();
  const response = await openStream(URI, {
    headers: { Accept: 'text/event-stream', ...(lastId === null ? {} : { 'Last-Event-ID': lastId }) },
    signal: anyOf([silence.signal, until]),
  });
  isLive.value = true;
  for (const listener of connectListeners) listener();
  yield* readEvents(response, silence);
}

/** Waits for a time. Ends earlier when the computer has its network back, or when the signal aborts. */
function pause(ms: number, until: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      removeEventListener('online', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    until.addEventListener('abort', done, { once: true });
  });
}

interface RawEvent {
  readonly id: string | null;
  readonly data: string;
}

async function* readEvents(response: Response, silence: AbortController): AsyncGenerator<RawEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let text = '';
  for (;;) {
    const timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const { done, value } = await reader.read();
    clearTimeout(timer);
    if (done) return;
    text += value;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== null) yield event;
    }
  }
}

/** Parses a block of lines; null if it has no data, such as a comment. */
function parseEvent(block: string): RawEvent | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('id:')) id = line.slice(3).trim();
    if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
  }
  return data.length === 0 ? null : { id, data: data.join('\n') };
}
