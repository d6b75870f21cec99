import type { Header } from './protocol/message.js';
import type { EventProcedure } from './protocol/procedure.js';
import type { XdrReader } from './xdr.js';

interface Registration {
  readonly event: EventProcedure<unknown>;
  readonly listeners: Set<(event: unknown) => void>;
}

const keyOf = (program: number, procedure: number): string => `${program}/${procedure}`;

/** Who listens to which events of a link. */
export class LinkEvents {
  readonly #registrations = new Map<string, Registration>();

  constructor(private readonly onWarning: (error: Error) => void) {}

  /** @see Link.onEvent */
  on<E>(event: EventProcedure<E>, listener: (event: E) => void): () => void {
    const key = keyOf(event.program, event.number);
    const registration = this.#registrations.get(key) ?? { event, listeners: new Set() };
    this.#registrations.set(key, registration);
    // The codec of the first registration decodes for all: one number has one layout. A function of its own, so that one
    // listener may be added twice.
    const entry = (value: unknown): void => listener(value as E);
    registration.listeners.add(entry);
    return () => {
      registration.listeners.delete(entry);
      if (registration.listeners.size === 0 && this.#registrations.get(key) === registration) {
        this.#registrations.delete(key);
      }
    };
  }

  /** Decodes an event and hands it to its listeners; one without listeners is dropped unread. */
  take(header: Header, body: XdrReader): void {
    const registration = this.#registrations.get(keyOf(header.program, header.procedure));
    if (registration === undefined) return;
    let value: unknown;
    try {
      value = registration.event.event.decode(body);
    } catch (cause) {
      this.onWarning(new Error(`reading the event ${registration.event.name}: malformed message`, { cause }));
      return;
    }
    for (const listener of [...registration.listeners]) {
      try {
        listener(value);
      } catch (error) {
        // The fault is the listener's: neither the connection nor the other listeners may suffer, and it must not vanish.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
