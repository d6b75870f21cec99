/** Masks the secrets of a deployment, which some upstreams repeat in errors and headers. */
import { escapeRegExp } from '@rackless/daemon/text/escape-reg-exp.js';
import type { Deployment } from '../providers/deployment.js';
import { searchedSecrets } from '../trace.js';

const MASK = '****';
/** Shorter secrets are masked only as whole words, because `12345678` may be a part of a number. */
const LENGTH_OF_UNIQUE_TEXT = 16;

/** Returns the text with the secrets of the deployment masked. A text of fewer than 7 characters is no secret. */
export type SecretMask = (text: string) => string;

const masks = new WeakMap<Deployment, SecretMask>();

/**
 * Returns the function that masks a deployment's secrets. Mask a text before you cut it: the search
 * does not find a part of a secret.
 * @param deployment null: the request has no deployment, so the function changes nothing.
 */
export function secretMask(deployment: Deployment | null): SecretMask {
  if (deployment === null) return unmasked;
  let mask = masks.get(deployment);
  if (mask === undefined) {
    mask = createMask(deployment);
    masks.set(deployment, mask);
  }
  return mask;
}

/** The newest access tokens of deployments, the last one first. They change, so they are not settings. */
const tokens = new WeakMap<Deployment, readonly string[]>();
/** A request may still run with the former token, which stays valid for some time. */
const REMEMBERED_TOKENS = 2;

/** Masks an access token of the deployment from now on, and the former one. */
export function rememberSecret(deployment: Deployment, token: string): void {
  const known = tokens.get(deployment) ?? [];
  if (known[0] === token) return;
  tokens.set(deployment, [token, ...known.filter((other) => other !== token)].slice(0, REMEMBERED_TOKENS));
  masks.delete(deployment);
}

const unmasked: SecretMask = (text) => text;

function createMask(deployment: Deployment): SecretMask {
  const { apiKey, extraHeaders, provider } = deployment;
  const bearers = (tokens.get(deployment) ?? []).map((token) => ['authorization', `Bearer ${token}`] as const);
  const headers = [...Object.entries({ ...provider.headers(apiKey), ...extraHeaders }), ...bearers];
  const secrets = searchedSecrets(apiKey, headers).map((secret) => ({ secret, pattern: patternOf(secret) }));
  return (text) => {
    let masked = text;
    for (const { secret, pattern } of secrets) {
      // Most headers are shorter than a key, so the length check saves a search.
      if (masked.length >= secret.length && masked.includes(secret)) masked = masked.replaceAll(pattern, MASK);
    }
    return masked;
  };
}

function patternOf(secret: string): string | RegExp {
  if (secret.length >= LENGTH_OF_UNIQUE_TEXT) return secret;
  return new RegExp(`(?<![A-Za-z0-9_-])${escapeRegExp(secret)}(?![A-Za-z0-9_-])`, 'g');
}
