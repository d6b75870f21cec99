/** The state of a request in the pipeline, and the change that a write reports. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Privilege } from './privileges.js';
import type { Authenticated } from './authenticate.js';
import type { Preconditions } from './conditions.js';
import type { Requester } from './resource.js';

/** A request after authentication. Its client may be anonymous if the request needs no login. */
export interface Exchange {
  readonly request: IncomingMessage;
  /** The path as sent, without the query. */
  readonly path: string;
  readonly requester: Requester;
  readonly identity: Authenticated;
  /**
   * UUID of the machine whose own name or address received the request; only this machine is visible
   * to the request. Null: all machines are visible.
   */
  readonly scope: string | null;
  /** Conditions for the ETag of the resource at `path`, and of no other resource. */
  readonly preconditions: Preconditions;
  /** The text after the `?`. */
  readonly query: string | undefined;
  /** The only properties that this PATCH may change; null: no restriction. */
  readonly patchable: ReadonlySet<string> | null;
  /**
   * Returns the exchange with the current rights of the client. A body can arrive minutes after the
   * headers, and an administrator may have deleted the account in between.
   * @throws {RedfishError} 401, 403, 503.
   */
  readonly reauthorize: () => Promise<Exchange>;
}

/**
 * The change of a resource by a POST, PATCH or DELETE. An action counts as a change of its resource, or
 * of the resource in `WriteResult.changed`.
 */
export interface Change {
  readonly kind: 'created' | 'changed' | 'removed';
  /** Canonical URI of the resource. */
  readonly uri: string;
  readonly requester: Requester;
  /**
   * For a PATCH: the property names, with values only for the properties in `loggedValues`:
   * `Boot.BootSourceOverrideTarget Cd`. For an action: its name and summary. Absent for a created or
   * removed resource.
   */
  readonly detail?: string;
}
/**
 * Called after each successful write. Exceptions: a write that has become a task, because the task
 * reports its own end; and an action whose `ActionDefinition.summary` returns null. It must not throw.
 */
export type ChangeListener = (change: Change) => void;

/**
 * The client of one request. Creates `signal` on its first use, because most requests do not use
 * it.
 */
export class RequestClient implements Requester {
  readonly user: string | null;
  readonly session: string | null;
  readonly privileges: ReadonlySet<Privilege>;
  readonly address: string;
  readonly requestId: string;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(identity: Authenticated, requestId: string, request: IncomingMessage, response: ServerResponse) {
    this.user = identity.user;
    this.session = identity.session;
    this.privileges = identity.privileges;
    // The address is undefined after the socket is destroyed. No client receives the answer then, so an
    // empty text is enough.
    this.address = request.socket.remoteAddress ?? '';
    this.requestId = requestId;
    this.#response = response;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (this.#response.destroyed) controller.abort();
      // `close` also follows a complete answer; nothing listens to the signal then.
      this.#response.once('close', () => controller.abort());
    }
    return this.#controller.signal;
  }
}
