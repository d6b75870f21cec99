/** The open event streams. A stream is a subscription that ends with its client. */
import { randomUUID } from 'node:crypto';
import { redfishError } from '../../redfish/messages/errors.js';
import type { StreamSource } from '../../redfish/stream.js';
import type { ReportMessage, ReportSource } from '../../offers/report-source.js';
import type { Actor } from '../event-bus.js';
import type { EventFeed } from '../event-feed.js';
import { EventStream } from './event-stream.js';
import { eventsOf, reportsOf } from '../machine-filter.js';
import { everyEvent, type StreamSelection } from '../stream-filter.js';
import type { StreamSubscription } from './subscription.js';
import type { PlaceRequest } from './subscription-shares.js';

/** A client's request for an event stream. */
export interface EventStreamRequest {
  /** Null: every event. */
  readonly selection: StreamSelection | null;
  /** UUID of a machine: the stream receives only its events and reports, and those of the service. Default: all. */
  readonly machine?: string;
  /** Header Last-Event-ID. */
  readonly lastEventId: string | undefined;
  readonly actor: Actor;
  /** @see PlaceRequest.hasConfigureManager */
  readonly hasConfigureManager: boolean;
  /** Address and port of the client, such as `192.0.2.1:40112`. */
  readonly peer: string;
  /** @see EventStreamOptions.isAuthorized */
  readonly isAuthorized: () => boolean;
}

/** The event of a stream that opened or closed. */
type StreamChange = 'ResourceCreated' | 'ResourceRemoved';

/** Options of {@link OpenStreams}. */
interface OpenStreamsOptions {
  readonly feed: EventFeed;
  /** The source of metric reports; null without telemetry. */
  readonly reports: ReportSource | null;
  /** Maximum number of events that wait for one stream. */
  readonly backlog: number;
  readonly keepAliveMs: number;
  /** @throws {RedfishError} if the service has no room for another subscription. */
  readonly checkRoom: (request: PlaceRequest) => void;
  /** Called after each change of the list. */
  readonly onChange: () => void;
  /** Publishes that a stream opened or closed. */
  readonly publish: (change: StreamChange, id: string, actor: Actor) => void;
}

interface OpenStream {
  readonly subscription: StreamSubscription;
  readonly close: () => void;
}

/** A stream is closed if its client reads nothing for this time, or too little to empty the output's buffer. */
const STALLED_MS = 120_000;

/** All open streams of this process. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #streams = new Map<string, OpenStream>();
  #closed = false;

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
  }

  list(): readonly StreamSubscription[] {
    return [...this.#streams.values()].map(({ subscription }) => subscription);
  }

  find(id: string): StreamSubscription | undefined {
    return this.#streams.get(id)?.subscription;
  }

  /** Closes a stream. @returns false if it does not exist. */
  remove(id: string): boolean {
    const stream = this.#streams.get(id);
    stream?.close();
    return stream !== undefined;
  }

  /** Closes all streams, and rejects new ones. */
  close(): void {
    this.#closed = true;
    for (const { close } of [...this.#streams.values()]) close();
  }

  /**
   * Returns the source of a new stream. The stream opens when the pipeline calls the source with its output.
   * @throws {RedfishError} EventSubscriptionLimitExceeded, or ServiceShuttingDown.
   */
  open(request: EventStreamRequest): StreamSource {
    const { actor, hasConfigureManager, machine = null } = request;
    if (this.#closed) throw redfishError('ServiceShuttingDown');
    const { user: owner, address } = actor;
    this.#options.checkRoom({ kind: 'stream', owner, address, hasConfigureManager });
    const requested = request.selection ?? everyEvent;
    const selection = {
      ...requested,
      events: eventsOf(machine, requested.events),
      reports: requested.reports === null ? null : reportsOf(machine, requested.reports),
    };
    const subscription: StreamSubscription = {
      kind: 'stream',
      id: randomUUID(),
      destination: `redfish-sse://${request.peer}`,
      address,
      owner,
      format: selection.format,
      machine,
    };
    return (output) => this.#connect(output, subscription, selection, request);
  }

  #connect(
    output: Parameters<StreamSource>[0],
    subscription: StreamSubscription,
    selection: StreamSelection,
    { actor, isAuthorized, lastEventId }: EventStreamRequest,
  ): void {
    const { feed, reports, backlog, keepAliveMs, onChange, publish } = this.#options;
    const { id } = subscription;
    const stream = new EventStream(output, {
      feed,
      context: '',
      limit: backlog,
      keepAliveMs,
      stalledMs: STALLED_MS,
      isAuthorized,
      onEnd: () => {
        unsubscribe();
        unsubscribeReports?.();
        this.#streams.delete(id);
        onChange();
        if (!this.#closed) publish('ResourceRemoved', id, actor);
      },
    });
    const missed = lastEventId === undefined ? undefined : feed.since(lastEventId);
    if (missed !== undefined) stream.replay({ ...missed, events: missed.events.filter(selection.events) });
    const unsubscribe = feed.add({ wants: selection.events, deliver: (event) => stream.deliver(event) });
    const deliver = (message: ReportMessage): void => stream.deliverReport(message);
    const unsubscribeReports =
      selection.reports === null ? undefined : reports?.subscribe({ wants: selection.reports, deliver });
    this.#streams.set(id, { subscription, close: () => stream.close() });
    onChange();
    // The stream also gets this event, unless its filter excludes it. So the client sees at once
    // that the stream is open.
    publish('ResourceCreated', id, actor);
    // The client may have disconnected before the stream listened to `output`.
    if (output.destroyed) stream.close();
  }
}
