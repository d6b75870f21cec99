/**
 * Errors that some upstreams send with status 200: as the answer, or as the first event of a
 * stream.
 */
import { parseJson } from '@rackless/daemon/text/json.js';
import { statusOfError } from '../../providers/openai/errors.js';

/** Maximum size of such an error. The proxy treats a longer answer as a success. */
export const MAX_SUCCESS_ERROR_BYTES = 65_536;

const errorKey = '"error"';
/**
 * An error contains `"error"` within this number of first bytes: its first member has the name `error`, or is
 * `object` with the value `error`.
 */
const BEGINNING_BYTES = 64;

/**
 * Finds the status of an error that came as an answer with status 200. An answer with `choices`, or
 * with an `object` other than `error`, is not an error, even if it has an `error` member: a response
 * of `/v1/responses` whose `status` is `failed` has one.
 * @param chunks the whole answer, as received.
 * @param length size of the answer in bytes.
 * @param beginning the first bytes of the answer as latin1.
 * @returns 400 to 599; undefined: the answer is not an error.
 */
export function statusOfErrorAnswer(chunks: readonly Buffer[], length: number, beginning: string): number | undefined {
  if (length > MAX_SUCCESS_ERROR_BYTES || !beginning.slice(0, BEGINNING_BYTES).includes(errorKey)) return undefined;
  const answer = parse(Buffer.concat(chunks, length).toString());
  if (answer === undefined || 'choices' in answer) return undefined;
  return 'object' in answer && answer.object !== 'error' ? undefined : statusOfError(answer);
}

/**
 * Finds the status of an error that came as an event. An event with `{"error": null}`, or with a
 * text about errors, is not an error.
 * @param data the event's data.
 * @returns 400 to 599; undefined: the event is not an error.
 */
export function statusOfErrorEvent(data: string): number | undefined {
  const event = parse(data);
  return event === undefined ? undefined : statusOfError(event);
}

/** Returns the object in a text; undefined: the text is not a JSON object, so it is no error object. */
function parse(text: string): object | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}
