/** One request on its way through the pipeline. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Privilege } from '../auth/privileges.js';
import type { Authenticated } from './authenticate.js';
import type { Preconditions } from './conditions.js';
import type { Requester } from './resource.js';

/** One request on its way through the pipeline. */
export interface Exchange {
  readonly request: IncomingMessage;
  /** Without the query, as sent. */
  readonly path: string;
  readonly requester: Requester;
  readonly who: Authenticated;
  /** UUID of the machine by whose own name or address the request came, which sees that machine alone; null: all are seen. */
  readonly scope: string | null;
  /** Evaluated once, against the ETag of `path`; see {@link unconditional}. */
  readonly preconditions: Preconditions;
  /** Behind the `?`. */
  readonly query: string | undefined;
  /** The only properties that this PATCH may change; null: all. */
  readonly patchable: ReadonlySet<string> | null;
  /**
   * Returns the exchange with the current rights of the client. A body can arrive minutes after its
   * head, and an administrator may have deleted the account in between.
   * @throws {RedfishError} 401, 403, 503.
   */
  readonly reauthorize: () => Promise<Exchange>;
}

/** A POST, PATCH or DELETE that was carried out; an action is a change of its resource. */
export interface Change {
  readonly kind: 'created' | 'changed' | 'removed';
  /** Canonical URI of the resource. */
  readonly uri: string;
  readonly requester: Requester;
  /** Of a PATCH the names of the properties, `Boot.BootSourceOverrideTarget Cd`, with values only where the resource says so; of an action its name and summary. */
  readonly detail?: string;
}
/** Told of every write that was carried out; it must not throw. */
export type ChangeListener = (change: Change) => void;

/** Who asks, with a signal that costs nothing until somebody wants it. */
export class RequestRequester implements Requester {
  readonly user: string | null;
  readonly session: string | null;
  readonly privileges: ReadonlySet<Privilege>;
  readonly address: string;
  readonly requestId: string;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(who: Authenticated, requestId: string, request: IncomingMessage, response: ServerResponse) {
    this.user = who.user;
    this.session = who.session;
    this.privileges = who.privileges;
    // Undefined once the socket is destroyed; the answer goes nowhere then.
    this.address = request.socket.remoteAddress ?? '';
    this.requestId = requestId;
    this.#response = response;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#response.destroyed) controller.abort();
      // `close` comes after a complete answer, too, when nobody listens to the signal any more.
      this.#response.once('close', () => controller.abort());
    }
    return this.#controller.signal;
  }
}
