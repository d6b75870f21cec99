/**
 * What happens to the service and its machines, told to whoever listens: logs, subscriptions, streams. Publishing costs the
 * publisher nothing but the call, and no listener can hold up or hurt a request.
 */
import type { Severity } from '../redfish/base-registry.js';

/** Who asked for a change. */
export interface Actor {
  /** null where no AUTH_FILE is set. */
  readonly user: string | null;
  /** The peer's IP address. */
  readonly address: string;
}

/** One thing that happened. */
export interface ServiceEvent {
  /** Registry and key: `ResourceEvent.1.4.ResourceChanged`. */
  readonly messageId: string;
  /** In the registry's order; at the time of the event. */
  readonly messageArgs: readonly string[];
  readonly severity: Severity;
  /** URI of the resource that it is about, canonical. */
  readonly origin: string;
  /** UUID of the machine; null for the service itself. */
  readonly system: string | null;
  /** null for what nobody asked for over Redfish: a guest that shut itself down, a `virsh destroy`. */
  readonly actor: Actor | null;
  readonly time: Date;
  /** A sentence after the message's own text, for people: `ComputerSystem.Reset ForceOff.` Never a secret. */
  readonly detail?: string;
  /** In place of the registry's text, and of our own EventId: what a client wants a test event to say. */
  readonly message?: string;
  readonly testId?: string;
}

/** Told of each event, once; what it throws is the bus's owner's to hear. */
export type EventListener = (event: ServiceEvent) => void;

/** Where everything that happens comes by. */
export interface EventBus {
  /** Tells every listener, in the order of their subscription. Never throws, never waits. */
  publish(event: ServiceEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: EventListener): () => void;
}

/**
 * @param onError told what a listener throws. A listener's fault is nobody else's: the rest are told all the same.
 */
export function createEventBus(onError: (error: unknown) => void): EventBus {
  const listeners = new Set<{ readonly listener: EventListener }>();
  return {
    publish(event) {
      for (const { listener } of listeners) {
        try {
          listener(event);
        } catch (error) {
          onError(error);
        }
      }
    },
    subscribe(listener) {
      // Boxed: the same function may be subscribed twice.
      const entry = { listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}

/** The machine that a canonical URI belongs to: the UUID in `/redfish/v1/Systems/{uuid}/…`; null where it is nobody's. */
export function systemOf(origin: string): string | null {
  return /^\/redfish\/v1\/(?:Systems|Managers|Chassis)\/([^/]+)/.exec(origin)?.[1] ?? null;
}
