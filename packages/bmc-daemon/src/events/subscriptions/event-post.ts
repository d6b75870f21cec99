/** Sends events to a subscriber's listener with a POST. */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import type { NameLookup } from '../../host/name-lookup.js';
import { ImageError } from '../../media/image-error.js';
import { anyHost, imageHosts } from '../../media/image-hosts.js';

/** The receiver of a push subscription. */
export interface Listener {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether an https listener needs a trusted certificate. */
  readonly verifyCertificate: boolean;
}

/**
 * Sends a payload. Rejects with a reason for people if the listener does not answer 2xx in time.
 */
export type EventPost = (listener: Listener, payload: string, signal: AbortSignal) => Promise<void>;

/** Maximum time for one payload. */
const TIMEOUT_MS = 10_000;
/** Maximum number of bytes of an answer's body that are read and ignored. A longer body ends the connection. */
const MAX_ANSWER_BYTES = 65_536;

/**
 * Addresses that are forbidden for images are also forbidden for listeners. For example, the metadata services
 * of clouds offer the secrets of machines.
 */
const hosts = imageHosts(anyHost);

/** Returns whether a URL has a forbidden address; false for a host name, whose addresses are checked at each POST. */
export function isForbidden(url: URL): boolean {
  try {
    hosts.check(url);
    return false;
  } catch {
    return true;
  }
}

/**
 * Creates the sender and a function that closes its connections. The sender follows no redirects, so
 * events go only to the address that the client has chosen.
 * @param lookup resolves host names. Default: the host's resolver.
 */
export function createEventPost(lookup?: NameLookup): { readonly post: EventPost; close(): void } {
  const hostsWithLookup = lookup === undefined ? hosts : imageHosts({ ...anyHost, lookup });
  const options = { keepAlive: true, maxFreeSockets: 64, timeout: TIMEOUT_MS };
  const http = new HttpAgent(options);
  const https = { true: new HttpsAgent(options), false: new HttpsAgent({ ...options, rejectUnauthorized: false }) };
  const open = (listener: Listener, given: RequestOptions): ClientRequest =>
    listener.url.protocol === 'https:'
      ? httpsRequest(listener.url, { ...given, agent: https[`${listener.verifyCertificate}`] })
      : httpRequest(listener.url, { ...given, agent: http });

  const post: EventPost = (listener, payload, signal) =>
    new Promise((resolve, reject) => {
      const timeout = AbortSignal.timeout(TIMEOUT_MS);
      const fail = (error: unknown): void => {
        reject(new Error(timeout.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : reasonOf(error)));
      };
      if (isForbidden(listener.url)) {
        reject(new Error(forbidden));
        return;
      }
      const outgoing = open(listener, {
        method: 'POST',
        lookup: hostsWithLookup.lookupFor(listener.url),
        headers: {
          'User-Agent': 'Rackless',
          ...listener.headers,
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': Buffer.byteLength(payload),
          'OData-Version': '4.0',
        },
        signal: AbortSignal.any([signal, timeout]),
      });
      outgoing.on('error', fail);
      // A protocol upgrade causes neither a `response` nor an `error` event, so the POST would not end without this
      // listener.
      outgoing.on('upgrade', (_answer, socket) => {
        socket.destroy();
        reject(new Error('the listener answered with 101'));
      });
      outgoing.on('response', (answer) => {
        const { statusCode = 0 } = answer;
        if (statusCode >= 200 && statusCode < 300) resolve();
        else reject(new Error(`the listener answered with ${statusCode}`));
        // Reads the rest of the answer, so that the agent can use the connection again. The signal ends a body
        // that takes too long; this causes an error, and so does a lost connection. Neither changes the result.
        let bytes = 0;
        answer.on('error', () => undefined);
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) answer.destroy();
        });
      });
      outgoing.end(payload);
    });
  return {
    post,
    close: () => {
      for (const agent of [http, https.true, https.false]) agent.destroy();
    },
  };
}

const forbidden = 'the service sends no events to multicast, broadcast, link-local and cloud metadata addresses';

function reasonOf(error: unknown): string {
  return error instanceof ImageError ? forbidden : fileReason(error);
}
