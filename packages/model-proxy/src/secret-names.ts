/**
 * Patterns for names that suggest a secret value. The pages, the trace and the output of
 * `--validate_config` use them, so that they mask the same values. The log has its own pattern.
 */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';

/** The text that replaces a secret. */
export const MASK = '******';

/**
 * Matches names of headers, of members of `extra_body`, and of members of a token request whose values may be secret.
 * Prefers false positives to false negatives.
 */
export const secretHeader = /auth|key|token|secret|cookie|password|credential/i;

/**
 * Matches names of secret parameters, also in `model_info`: `api_key`, but not `max_tokens` or
 * `input_cost_per_token`.
 */
export const secretParameter =
  /(?:keys?|secrets?|passwords?|authorization|credentials?|(?:access|auth|bearer)_token)$/i;

/**
 * Masks the secrets of values from the configuration: members with secret names, at any depth and in lists, and the
 * secrets of URLs. Numbers and booleans are no secrets.
 */
export function maskSecrets(values: Values, secretName: RegExp): Record<string, unknown> {
  return shownMembers(values, (name, value) =>
    secretName.test(name) && (typeof value === 'string' || (typeof value === 'object' && value !== null))
      ? [[name, MASK]]
      : null,
  );
}

/**
 * Removes members whose names suggest a secret parameter, at any depth and in lists, and masks the secrets of URLs.
 */
export function withoutSecrets(values: Values): Record<string, unknown> {
  return shownMembers(values, (name) => (secretParameter.test(name) ? [] : null));
}

type Values = Readonly<Record<string, unknown>>;

/** Returns the members that replace one with a secret; null: the member has no secret. */
type ReplaceSecret = (name: string, value: unknown) => readonly (readonly [name: string, value: unknown])[] | null;

function shownMembers(values: Values, replace: ReplaceSecret): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => replace(name, value) ?? [[name, shownValue(value, replace)]]),
  );
}

function shownValue(value: unknown, replace: ReplaceSecret): unknown {
  if (typeof value === 'string') return maskIfUrl(value);
  if (Array.isArray(value)) return value.map((item) => shownValue(item, replace));
  return typeof value === 'object' && value !== null ? shownMembers({ ...value }, replace) : value;
}

/** Masks the secrets of a text that is a URL. */
const maskIfUrl = (text: string): string => (/^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text) ? maskUrl(text) : text);
