/**
 * Gets tokens from Keystone. The driver renews a token with the credentials, because a token that
 * was created from another token expires at the same time as that token.
 */
import { z } from 'zod';
import { retryAfterMs } from '@rackless/daemon/http/retry-after.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { CloudError, NoEndpointError } from '../cloud/cloud-error.js';
import { cloudServices, type CloudService } from '../cloud/cloud-services.js';
import type { CloudSettings } from '../cloud/cloud-settings.js';
import { listOf } from './answer-forms.js';
import { jsonOf, reasonOf } from './answer-text.js';
import { CloudFailure, RejectedCredentials } from './cloud-failure.js';
import type { CloudAnswer, Exchange } from './exchange.js';
import { sendWithRetries } from './retry.js';

const catalogSchema = listOf(
  z.object({
    type: z.string(),
    endpoints: listOf(
      z.object({
        interface: z.string(),
        region: z.string().nullish(),
        region_id: z.string().nullish(),
        url: z.string(),
      }),
    ),
  }),
);
const tokenSchema = z.object({
  token: z.object({ catalog: catalogSchema.default([]), project: z.object({ id: z.string() }).optional() }),
});

/** A token with the catalog of its project. */
export interface CloudToken {
  readonly id: string;
  readonly catalog: z.infer<typeof catalogSchema>;
  /** Undefined: the token names no project. */
  readonly projectId: string | undefined;
}

/**
 * Requests a token.
 * @throws {RejectedCredentials} if Keystone rejects the credentials.
 * @throws {CloudError} if there is no Keystone API at the URL, or if Keystone rejects the form of
 *   the request.
 * @throws {CloudFailure} if Keystone does not answer, or cannot answer now. After a 429, it has the
 *   pause of `Retry-After`.
 */
export async function authenticate(
  { identityUrl, credentials, place }: CloudSettings,
  exchange: Exchange,
  limits: { readonly deadline: number; readonly signal: AbortSignal },
): Promise<CloudToken> {
  const url = new URL(`${identityUrl}/auth/tokens`);
  const answer = await sendWithRetries(
    exchange,
    { method: 'POST', url, headers: {}, body: { auth: credentials.auth } },
    limits,
  );
  const reason = reasonOf(answer, credentials.secrets);
  if (answer.status === 401 || answer.status === 403) {
    throw new RejectedCredentials(`${credentials.place}: Keystone rejects the credentials (${reason})`);
  }
  if (answer.status === 400) throw new CloudError([`${place('auth')}: Keystone rejects the request (${reason})`]);
  const token = answer.status === 201 ? parseToken(answer) : undefined;
  if (token !== undefined) return token;
  if (answer.status >= 200 && answer.status < 500 && answer.status !== 408 && answer.status !== 429) {
    throw new CloudError([`${place('auth.auth_url')}: there is no Keystone API version 3 (${shortReason(answer)})`]);
  }
  const pauseMs = answer.status === 429 ? retryAfterMs(answer.headers, Date.now()) : undefined;
  throw new CloudFailure('interrupted', `asking Keystone for a token: it answers ${reason}`, { pauseMs });
}

/** Returns only the status, because the text of a server that is not Keystone does not help. */
function shortReason({ status }: CloudAnswer): string {
  return `it answers ${status}`;
}

function parseToken(answer: CloudAnswer): CloudToken | undefined {
  const parsed = tokenSchema.safeParse(jsonOf(answer));
  const id = answer.headers['x-subject-token'];
  if (!parsed.success || id === undefined || id === '') return undefined;
  const { catalog, project } = parsed.data.token;
  return { id, catalog, projectId: project?.id };
}

/**
 * Returns the URL of a service, without a slash at the end: the URL in the settings, or the one in
 * the catalog.
 * @throws {NoEndpointError} if the catalog has no endpoint of the service for the region and the interface of the
 *   settings.
 * @throws {CloudError} if the URL in the catalog is invalid. The fault names the URL.
 */
export function endpointOf(service: CloudService, { catalog }: CloudToken, settings: CloudSettings): string {
  const override = settings.endpoints[service];
  if (override !== undefined) return withoutVersion(service, override);
  const { region, place } = settings;
  const types: readonly string[] = cloudServices[service].types;
  // A catalog may list a service under several types. The first type in `types` has precedence.
  const type = types.find((name) => catalog.some((entry) => entry.type === name)) ?? types.join(' or ');
  const offered = catalog.filter((entry) => entry.type === type).flatMap(({ endpoints }) => endpoints);
  if (offered.length === 0) {
    throw new NoEndpointError([`${place('auth')}: the catalog of the project has no service of the type ${type}`]);
  }
  const regionOf = (endpoint: (typeof offered)[number]) => endpoint.region_id ?? endpoint.region ?? '';
  const nearby = region === undefined ? offered : offered.filter((endpoint) => regionOf(endpoint) === region);
  if (nearby.length === 0) {
    const regions = [...new Set(offered.map(regionOf))].join(', ');
    const fault = `${place('region_name')}: the catalog has no region '${region ?? ''}'; it has ${regions}`;
    throw new NoEndpointError([fault]);
  }
  const found = nearby.find((endpoint) => endpoint.interface === settings.interface);
  if (found === undefined) {
    const offers = [...new Set(nearby.map((endpoint) => endpoint.interface))].join(', ');
    throw new NoEndpointError([
      `${place('interface')}: the service ${type} has no ${settings.interface} endpoint; it has ${offers}`,
    ]);
  }
  if (!URL.canParse(found.url) || !/^https?:$/.test(new URL(found.url).protocol)) {
    const [field] = cloudServices[service].override;
    throw new CloudError([
      `${place(field)} must be set to a URL with http or https: the catalog has '${maskUrl(found.url)}' for ${type}`,
    ]);
  }
  return withoutVersion(service, withoutTrailingSlashes(found.url));
}

/** Removes the version from the end of Glance's URL. Only some catalogs have it there. */
function withoutVersion(service: CloudService, url: string): string {
  return service === 'image' ? url.replace(/\/v2(\.\d+)?$/, '') : url;
}
