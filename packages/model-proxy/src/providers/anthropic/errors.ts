/**
 * Anthropic's errors.
 * @see https://platform.claude.com/docs/en/api/errors
 */
import type { UpstreamError } from '../dialect.js';
import { recordOf, textOf } from './values.js';

/** The status of each type. Errors in a stream have only a type. */
const statusOfType: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** Reads `{"type": "error", "error": {"type": …, "message": …}}`. @returns undefined: another shape. */
export function errorIn(value: unknown): UpstreamError | undefined {
  const body = recordOf(value);
  const error = body?.['type'] === 'error' ? recordOf(body['error']) : undefined;
  const message = textOf(error?.['message']);
  return message === undefined ? undefined : { message, type: textOf(error?.['type']) ?? null };
}

/**
 * Reads an error of a stream, or of an answer with status 200, and adds the status of its type: 500 for an unknown
 * type.
 * @returns undefined: another shape.
 */
export function errorWithStatus(value: unknown): (UpstreamError & { readonly status: number }) | undefined {
  const error = errorIn(value);
  return error === undefined ? undefined : { ...error, status: statusOfType.get(error.type ?? '') ?? 500 };
}
