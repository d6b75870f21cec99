/**
 * Forwards events of the service and its machines to listeners: logs, subscriptions, streams.
 * An error of a listener cannot break a request. Listeners run in the request, so they must return
 * fast.
 */
import type { Severity } from '../redfish/messages/base-registry.js';

/** The client that caused a change. */
export interface Actor {
  /** Null for a service without accounts. */
  readonly user: string | null;
  /** The peer's IP address. */
  readonly address: string;
}

/** An event. */
export interface ServiceEvent {
  /** Registry and key, such as `ResourceEvent.1.4.ResourceChanged`. */
  readonly messageId: string;
  /** In the registry's order, with the values at the time of the event. */
  readonly messageArgs: readonly string[];
  readonly severity: Severity;
  /** The canonical URI of the event's resource. */
  readonly origin: string;
  /** The machine's UUID; null for the service itself. */
  readonly system: string | null;
  /** Null if no Redfish client caused it: a guest that shut itself down, a `virsh destroy`. */
  readonly actor: Actor | null;
  readonly time: Date;
  /**
   * More text for people, with its period, after the text of the message:
   * `ComputerSystem.Reset ForceOff.` Never a secret.
   */
  readonly detail?: string;
  /**
   * For a test event of a client: `message` replaces the registry's text, and `testId` replaces the
   * EventId.
   */
  readonly message?: string;
  readonly testId?: string;
}

/** Called once for each event. The bus catches its errors. */
type EventListener = (event: ServiceEvent) => void;

/** The bus for all events. */
export interface EventBus {
  /** Calls every listener in the order of subscription. Never throws, never waits. */
  publish(event: ServiceEvent): void;
  /** @returns a function that ends the subscription. */
  subscribe(listener: EventListener): () => void;
}

/**
 * Creates a bus.
 * @param onError called with the error of a listener. The other listeners are still called.
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
      // Wrapped in an object, because the same function may subscribe twice.
      const entry = { listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
