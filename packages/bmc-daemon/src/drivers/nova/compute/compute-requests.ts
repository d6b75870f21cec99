/** Requests to Nova, with the newest API version that both Nova and the driver support. */
import { z } from 'zod';
import { CloudError } from '../cloud/cloud-error.js';
import { cloudServices } from '../cloud/cloud-services.js';
import { jsonOf } from '../http/answer-text.js';
import { CloudFailure } from '../http/cloud-failure.js';
import type { CloudAnswer } from '../http/exchange.js';
import { bodyOf, type CloudSession, type ServiceRequest } from '../http/session.js';

/**
 * Sends requests. All functions throw as {@link CloudSession.request}, and {CloudError} if Nova is too old or
 * its URL has no version.
 */
export interface ComputeRequests {
  readonly get: (
    path: string,
    query?: URLSearchParams | Readonly<Record<string, string>>,
    relayedTo?: ServiceRequest['relayedTo'],
  ) => Promise<CloudAnswer>;
  readonly post: (path: string, body: object, relayedTo?: ServiceRequest['relayedTo']) => Promise<CloudAnswer>;
}

/** An API version, and when the driver requested it. */
interface Negotiation {
  readonly version: Promise<string>;
  /** A value of {@link performance.now}. */
  readonly at: number;
}

/**
 * After this time the driver reads the version again, because the cloud may have been upgraded.
 */
export const VERSION_MS = 600_000;
/** The minor number of the oldest API version in which a server contains its whole flavor: 2.47 (Pike, 2017). */
const OLDEST = 47;
/** The minor number of the newest API version that the driver was tested with: 2.93 (Zed). */
const NEWEST = 93;

const versionSchema = z.object({ version: z.object({ version: z.string() }) });
/** Nova's answer at a URL without a version. */
const versionsSchema = z.object({ versions: z.array(z.unknown()) });

/** Creates the requests of a session. @param maxAgeMs see {@link VERSION_MS}. */
export function createComputeRequests(
  session: CloudSession,
  { maxAgeMs }: { readonly maxAgeMs: number },
): ComputeRequests {
  let last: Negotiation | undefined;
  const negotiate = (before: Negotiation | undefined): Negotiation => {
    const version = findVersion(session).catch((error: unknown) => {
      // Nova did not report its version. The last known version probably still works.
      if (before !== undefined && error instanceof CloudFailure) return before.version;
      if (last === negotiation) last = undefined;
      throw error;
    });
    const negotiation: Negotiation = { version, at: performance.now() };
    return negotiation;
  };
  const current = (): Negotiation => {
    if (last === undefined || performance.now() - last.at > maxAgeMs) last = negotiate(last);
    return last;
  };
  const send = async (request: Pick<ServiceRequest, 'method' | 'body' | 'path' | 'query' | 'relayedTo'>) => {
    const attempt = (version: string): Promise<CloudAnswer> =>
      session.request({ ...request, headers: { 'openstack-api-version': `compute ${version}` } });
    const used = current();
    const version = await used.version;
    const answer = await attempt(version);
    // 406: Nova rejected the version of the request, so it did not execute the request. The driver then reads
    // Nova's version again. If this version is another one, the driver retries the request once.
    if (answer.status !== 406) return answer;
    if (last === used) last = undefined;
    const other = await current().version;
    return other === version ? answer : await attempt(other);
  };
  return {
    get: (path, query = {}, relayedTo) => send({ method: 'GET', path, query: new URLSearchParams(query), relayedTo }),
    post: (path, body, relayedTo) => send({ method: 'POST', path, body, relayedTo }),
  };
}

/**
 * Selects the API version.
 * @throws {CloudError} if Nova is too old, or if its URL has no version; {CloudFailure} if Nova does not
 *   report its version.
 */
async function findVersion(session: CloudSession): Promise<string> {
  const answer = await session.request({ method: 'GET', path: '/' });
  if (versionsSchema.safeParse(jsonOf(answer)).success) {
    const field = cloudServices.compute.override[0];
    throw new CloudError([`the URL of Nova has no version; set ${field} to a URL that ends with /v2.1`]);
  }
  const { version } = bodyOf(versionSchema, answer, session).version;
  const [major, minor = NaN] = version.split('.').map(Number);
  if (major !== 2 || !(minor >= OLDEST)) {
    throw new CloudError([`Nova has API version '${version.slice(0, 20)}', and the daemon needs 2.${OLDEST} or newer`]);
  }
  return `2.${Math.min(minor, NEWEST)}`;
}
