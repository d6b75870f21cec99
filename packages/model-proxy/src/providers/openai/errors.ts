/** Errors that servers with OpenAI's API send as an answer with status 200, or as an event. */
import { jsonWithinDepth } from '../../json/depth.js';
import type { UpstreamError } from '../dialect.js';

/**
 * Returns the error that an answer or an event reports.
 * @returns undefined: the value is not an error.
 */
export function openaiErrorIn(value: object): (UpstreamError & { readonly status: number }) | undefined {
  const error = errorMember(value);
  const status = statusOfError(value);
  if (error === null || status === undefined) return undefined;
  if (typeof error === 'string') return { status, message: error };
  const memberText = (name: string): string | null => {
    const member = Reflect.get(error, name) as unknown; // the value is any JSON
    return typeof member === 'string' ? member : null;
  };
  return {
    status,
    message: memberText('message') ?? jsonWithinDepth(error) ?? '',
    type: memberText('type'),
    param: memberText('param'),
    code: memberText('code'),
  };
}

/**
 * Returns the status of an error. vLLM writes the status into `code`. If `code` is something else, such as OpenAI's
 * names, or is missing, the status is 500.
 * @returns 400 to 599; undefined: the value is not an error.
 */
export function statusOfError(value: object): number | undefined {
  const error = errorMember(value);
  if (error === null) return undefined;
  const given = typeof error === 'object' && 'code' in error ? error.code : undefined;
  const code = typeof given === 'number' || typeof given === 'string' ? Number(given) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
}

/** Returns the error; null: there is none. In vLLM's older shape, the members of the error are at the top level. */
function errorMember(value: object): object | string | null {
  const error = 'error' in value ? value.error : 'object' in value && value.object === 'error' ? value : null;
  return typeof error === 'string' || typeof error === 'object' ? error : null;
}
