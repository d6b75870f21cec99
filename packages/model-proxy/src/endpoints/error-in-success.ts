/** Errors that come with a status that says nothing of them: as an answer of 200, or as the first event of a stream. */

/** Longer than any error that stands in place of an answer. */
export const MAX_SUCCESS_ERROR_BYTES = 65_536;

const errorKey = Buffer.from('"error"');
/** In an answer that is an error, `error` is the first member, or `object` is and says so. */
const BEGINNING_BYTES = 64;

/**
 * The status of an error that came as an answer in place of one; undefined: it is none. An answer that tells of itself what it is
 * (`"object": "response"`, which may have failed) or that has choices is none, whatever else it has.
 * @param chunks as received.
 * @param length of all of them, in bytes.
 */
export function statusOfErrorAnswer(chunks: readonly Buffer[], length: number): number | undefined {
  if (length > MAX_SUCCESS_ERROR_BYTES || chunks[0]?.subarray(0, BEGINNING_BYTES).includes(errorKey) !== true)
    return undefined;
  const answer = parse(Buffer.concat(chunks, length).toString());
  if (answer === undefined || 'choices' in answer) return undefined;
  return 'object' in answer && answer.object !== 'error' ? undefined : statusOf(answer);
}

/**
 * The status of an error that came as an event; undefined: it is none. `{"error": null, …}` and events that talk about errors
 * are no errors.
 * @param data of the event.
 */
export function statusOfErrorEvent(data: string): number | undefined {
  const event = parse(data);
  return event === undefined ? undefined : statusOf(event);
}

/** vLLM puts the status into `code`, OpenAI a word. */
function statusOf(told: object): number | undefined {
  // vLLM's older shape has the error's members at the top.
  const error = 'error' in told ? told.error : 'object' in told && told.object === 'error' ? told : null;
  if (typeof error === 'string') return 500;
  if (typeof error !== 'object' || error === null) return undefined;
  const code = 'code' in error ? Number(error.code) : Number.NaN;
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    // Whatever it is, it is for the client to read.
    return undefined;
  }
}
