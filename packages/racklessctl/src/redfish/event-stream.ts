/** Reads a service's stream of Server-Sent Events (DSP0266, "Server-sent events"). */
import { createParser } from 'eventsource-parser';
import { CommandFailure, exitCode } from '../failure.js';
import { errorCode } from '@rackless/daemon/error-code.js';
import { parseJson } from '@rackless/daemon/text/json.js';
import type { OpenAnswer } from './exchange.js';
import { asResource, type Resource } from './resource.js';
import type { Service } from './service.js';
import { wait } from './wait.js';

/** The service has no stream of events at this URI. */
export class NoEventStreamError extends Error {
  override readonly name = 'NoEventStreamError';
}

/** Options of {@link readEvents}. */
interface EventStreamOptions {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Is called when the connection ends or an attempt to connect again fails, before the next attempt. */
  readonly onInterruption: (reason: string) => void;
}

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 30_000;
/** Maximum number of characters of an incomplete event. */
const MAX_EVENT = 4 * 1024 * 1024;
/** After this time without data, TCP checks whether the connection still exists. */
const PROBE_MS = 30_000;

/**
 * Yields the objects of a stream, until the signal aborts. Connects again after an interruption. If the
 * events have ids, requests the events since the last one.
 * @throws the reason of the signal when it aborts.
 * @throws {NoEventStreamError} if the first connection shows that there is no stream.
 * @throws {CommandFailure} if the first connection fails, or if the service rejects the credentials
 *   at any time.
 */
export async function* readEvents(
  service: Service,
  path: string,
  options: EventStreamOptions,
): AsyncGenerator<Resource> {
  const { signal, onInterruption } = options;
  const position: Position = { id: undefined, pauseMs: FIRST_PAUSE_MS, mayRenew: false };
  let stream = await openStream(service, path, position, signal);
  for (let attempt = 0; ; attempt += 1) {
    try {
      if (attempt > 0) stream = await openStream(service, path, position, signal);
      for await (const event of parse(stream, position)) {
        attempt = 0;
        yield event;
      }
      onInterruption('the service closed the stream of events');
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof CommandFailure && error.code === exitCode.denied) throw error;
      onInterruption(reasonOf(error));
    } finally {
      stream.stream.destroy();
    }
    await wait(Math.min(position.pauseMs * 2 ** attempt, MAX_PAUSE_MS), signal);
  }
}

/** Point at which the stream continues after an interruption. */
interface Position {
  /** The last event id, for the header `Last-Event-ID`. */
  id: string | undefined;
  /** The pause before the first new connection. The service may change it (the field `retry`). */
  pauseMs: number;
  /** A stream was open with this session, so 401 means that the session has ended. */
  mayRenew: boolean;
}

async function openStream(
  service: Service,
  path: string,
  position: Position,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const { id } = position;
  const headers = { Accept: 'text/event-stream', ...(id === undefined ? {} : { 'Last-Event-ID': id }) };
  const answer = await service.stream(path, headers, signal);
  const type = answer.headers['content-type'] ?? '';
  if (answer.status === 200 && /^text\/event-stream\b/i.test(type)) {
    answer.stream.socket.setKeepAlive(true, PROBE_MS);
    position.mayRenew = true;
    return answer;
  }
  answer.stream.destroy();
  if (answer.status === 401 && position.mayRenew) {
    await service.renewSession();
    // Renews the session only once. Otherwise, a service that rejects each new session would cause endless logins.
    position.mayRenew = false;
    return openStream(service, path, position, signal);
  }
  if (answer.status === 401 || answer.status === 403)
    throw new CommandFailure(
      exitCode.denied,
      `reading ${path}: the service rejects the credentials (${answer.status})`,
    );
  throw new NoEventStreamError(`${path} is not a stream of events (${answer.status} ${type})`);
}

async function* parse({ stream }: OpenAnswer, position: Position): AsyncGenerator<Resource> {
  const events: Resource[] = [];
  let failure: Error | undefined;
  const parser = createParser({
    maxBufferSize: MAX_EVENT,
    onRetry: (milliseconds) => (position.pauseMs = Math.max(100, Math.min(milliseconds, MAX_PAUSE_MS))),
    onEvent: ({ id, data }) => {
      // Ignores an id with other characters than printable ASCII, because the header Last-Event-ID will have the id.
      if (id !== undefined && /^[\x20-\x7e]*$/.test(id)) position.id = id;
      const body = parseJson(data);
      if (body !== undefined) events.push(asResource(body));
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') failure = error;
    },
  });
  for await (const chunk of stream.setEncoding('utf8')) {
    parser.feed(chunk as string); // a stream with an encoding yields strings
    yield* events.splice(0);
    if (failure !== undefined) throw new Error('an event is too large', { cause: failure });
  }
}

/** Returns why a stream ended, for people. */
function reasonOf(error: unknown): string {
  // If the connection breaks within an answer, Node's error is ECONNRESET with the message `aborted`.
  if (errorCode(error) === 'ECONNRESET') return 'the connection to the service broke';
  return error instanceof Error ? error.message : String(error);
}
