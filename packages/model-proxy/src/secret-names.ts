/**
 * Patterns for names that suggest a secret value. The pages, the trace and the output of
 * `--validate_config` use them, so that they mask the same values. The log has its own pattern.
 */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';

/** The text that replaces a secret. */
export const MASK = '******';

/**
 * Matches names of secret headers and of request additions. Prefers false positives to false
 * negatives.
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
export function maskSecrets(values: Readonly<Record<string, unknown>>, secretName: RegExp): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const isSecret = secretName.test(name) && (typeof value === 'string' || typeof value === 'object');
      return [name, isSecret && value !== null ? MASK : masked(value, secretName)];
    }),
  );
}

function masked(value: unknown, secretName: RegExp): unknown {
  if (typeof value === 'string') return maskIfUrl(value);
  if (Array.isArray(value)) return value.map((item) => masked(item, secretName));
  return typeof value === 'object' && value !== null ? maskSecrets({ ...value }, secretName) : value;
}

/** Masks the secrets of a text that is a URL. */
export const maskIfUrl = (text: string): string => (/^\s*[a-z][a-z0-9+.-]*:\/\//i.test(text) ? maskUrl(text) : text);
