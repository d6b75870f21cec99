import { Listeners } from '../listeners.js';
import type { Header } from '../protocol/message.js';
import type { EventProcedure } from '../protocol/procedure.js';
import type { XdrReader } from '../xdr.js';

interface Registration {
  readonly event: EventProcedure<unknown>;
  readonly listeners: Listeners<unknown>;
}

const keyOf = (program: number, procedure: number): string => `${program}/${procedure}`;

/** Event listeners of a link. */
export class LinkEvents {
  readonly #registrations = new Map<string, Registration>();

  constructor(private readonly onWarning: (error: Error) => void) {}

  /** @see Link.onEvent */
  on<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void {
    const key = keyOf(event.program, event.number);
    // All listeners of an event share the codec of the first, because each event has only one
    // layout.
    const registration = this.#registrations.get(key) ?? { event, listeners: new Listeners<unknown>() };
    this.#registrations.set(key, registration);
    const remove = registration.listeners.add((value) => listener(value as E));
    return () => {
      remove();
      if (registration.listeners.size === 0 && this.#registrations.get(key) === registration) {
        this.#registrations.delete(key);
      }
    };
  }

  /** Decodes an event and calls its listeners. Ignores an event without listeners. */
  dispatch(header: Header, body: XdrReader): void {
    const registration = this.#registrations.get(keyOf(header.program, header.procedure));
    if (registration === undefined) return;
    let value: unknown;
    try {
      value = registration.event.event.decode(body);
    } catch (cause) {
      this.onWarning(new Error(`reading the event ${registration.event.name}: malformed message`, { cause }));
      return;
    }
    registration.listeners.emit(value);
  }
}
