/**
 * Parses JSON of upstreams and clients for dialects. `JSON.parse` has no limits: 4 MB of empty arrays become
 * more than a million objects of V8, which block the process for a second and take hundreds of MB.
 */
import { MAX_DEPTH } from './scanner.js';

/** Limits of a text. `values` is the maximum number of objects and arrays, `depth` that of nested ones. */
interface JsonLimits {
  readonly values: number;
  readonly depth: number;
}

/**
 * Limits of an answer or an event. A token with twenty log probabilities has up to 43 objects and arrays, so a plain
 * answer with them may have 11,600 tokens.
 */
const ANSWER_LIMITS: JsonLimits = { values: 500_000, depth: MAX_DEPTH };
/** Limits of a member of a request, which costs more to translate than an answer. */
export const REQUEST_LIMITS: JsonLimits = { values: 100_000, depth: MAX_DEPTH };
/** Limits of an error, of which only some texts are read. */
export const ERROR_LIMITS: JsonLimits = { values: 100_000, depth: Infinity };

/** Shorter texts cannot block the process, so no limit applies to them. */
const COUNTED_LENGTH = 4096;

/** Reports a text that exceeds a limit. The message names the limit. */
export class JsonLimitError extends Error {
  override readonly name = 'JsonLimitError';
}

/**
 * Parses a text.
 * @throws {SyntaxError} if it is not JSON.
 * @throws {JsonLimitError} if it exceeds a limit and has at least {@link COUNTED_LENGTH} characters.
 */
export function parseWithinLimits(text: string, limits = ANSWER_LIMITS): unknown {
  if (text.length >= COUNTED_LENGTH) checkLimits(text, limits);
  return JSON.parse(text) as unknown;
}

/** Returns the value of a text; undefined: the text is not JSON, or exceeds a limit. */
export function valueWithinLimits(text: string, limits = ANSWER_LIMITS): unknown {
  try {
    return parseWithinLimits(text, limits);
  } catch {
    return undefined;
  }
}

function checkLimits(text: string, limits: JsonLimits): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at);
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      values += 1;
      if (depth > limits.depth) throw new JsonLimitError(`more than ${limits.depth} objects and arrays are nested`);
      if (values > limits.values) throw new JsonLimitError(`it has more than ${limits.values} objects and arrays`);
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
}

/** Returns the position of the closing quote; the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (quote - 1 - backslashes >= from && text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}
