/** The secrets that a deployment's requests carry. Some upstreams repeat them in errors and headers: no client may read them there. */
import type { Deployment } from '../providers/deployment.js';
import { secretOfHeader } from '../trace.js';

/** Shorter ones would mask parts of ordinary words. */
const SHORTEST_SECRET = 4;
const MASK = '****';

/** Longest first: one may contain another. */
const known = new WeakMap<Deployment, readonly string[]>();

function secretsOf(deployment: Deployment): readonly string[] {
  const present = known.get(deployment);
  if (present !== undefined) return present;
  const { apiKey, extraHeaders, provider } = deployment;
  const headers = Object.entries({ ...provider.headers(apiKey), ...extraHeaders });
  const found = [apiKey, ...headers.map(([name, value]) => secretOfHeader(name, value))];
  const long = found.flatMap((text) => (text !== null && text.length >= SHORTEST_SECRET ? [text] : []));
  const secrets = [...new Set(long)].sort((left, right) => right.length - left.length);
  known.set(deployment, secrets);
  return secrets;
}

/** The text with each of the deployment's secrets masked. Mask before you cut: a cut secret is not found. */
export function withoutSecrets(text: string, deployment: Deployment): string {
  let rest = text;
  for (const secret of secretsOf(deployment)) {
    // Most headers are shorter than a key.
    if (rest.length >= secret.length && rest.includes(secret)) rest = rest.replaceAll(secret, MASK);
  }
  return rest;
}
