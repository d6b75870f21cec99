/**
 * The trace of `--detailed_debug`: logs each request to an upstream as a curl line, and the raw
 * answer. Keys are masked, and long texts are cut.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { ProxyError } from './errors/proxy-error.js';
import { secretHeader } from './secret-names.js';

/** The trace of one upstream call. */
export interface TracedCall {
  /** Stores the head of the answer. */
  head(status: number, headers: readonly string[]): void;
  /** Stores the first bytes of the body. */
  data(chunk: Buffer): void;
  /** Logs the head of a complete answer, and the beginning of its body. */
  end(): void;
  /** Logs the part of the answer that arrived before an error. */
  fail(error: ProxyError): void;
}

/** The parts of an upstream request that the trace shows. */
export interface TracedRequest {
  readonly method: string;
  readonly url: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  readonly body: readonly Buffer[];
  /**
   * The key is masked wherever it occurs, unless it is very short. Values of headers whose names
   * suggest a secret are masked as well.
   */
  readonly deployment: { readonly apiKey: string | null };
}

/** The trace of all upstream calls. */
export interface Trace {
  /** Logs a request and returns the trace of its answer. @param id the id of the client's request. */
  sending(id: string, request: TracedRequest): TracedCall;
}

/** Maximum number of bytes that the trace shows of a body. */
const SHOWN_BYTES = 16_384;

/** Options of {@link createTrace}. */
interface TraceOptions {
  /** Whether the trace shows only the sizes of bodies (`turn_off_message_logging`). */
  readonly hidesBodies: boolean;
}

/** Creates a trace that logs at level `debug`. */
export function createTrace(log: Pick<Log, 'debug'>, { hidesBodies }: TraceOptions): Trace {
  const newExcerpt = () => (hidesBodies ? new BodySize() : new Excerpt());
  return {
    sending: (id, request) => {
      const secrets = secretsOf(request);
      log.debug(`POST Request Sent from LiteLLM: ${curlLine(request, newExcerpt())}`, { id });
      const excerpt = newExcerpt();
      let answer = '';
      const logAnswer = (how: string, isComplete: boolean) =>
        log.debug(`RAW RESPONSE${how}: ${answer}${excerpt.shown(secrets, isComplete)}`, { id });
      return {
        head: (status, headers) => {
          // Some upstreams repeat keys also in headers with harmless names.
          const shown = pairs(headers).map(([name, value]) => `${name}: ${masked(maskedHeader(name, value), secrets)}`);
          answer = `${status} [${shown.join('; ')}] `;
        },
        data: (chunk) => excerpt.add(chunk),
        end: () => logAnswer('', true),
        fail: (error) => logAnswer(` (incomplete; ${error.kind} error: ${error.message})`, false),
      };
    },
  };
}

/**
 * Formats a request as one shell command with masked keys.
 * @param excerpt an empty excerpt; it selects the part of the body that the line shows.
 */
export function curlLine(request: TracedRequest, excerpt: BodyExcerpt = new Excerpt()): string {
  const { method, url, headers, body } = request;
  for (const chunk of body) excerpt.add(chunk);
  const secrets = secretsOf(request);
  // In JSON, a line end is only white space, so a space means the same. A form is shown in one
  // line, although it needs its line ends.
  const data = excerpt.shown(secrets, true).replaceAll(/\r?\n/g, ' ');
  // Some configurations repeat the key in headers with harmless names, or in the path of `api_base`.
  const options = pairs(headers).map(
    ([name, value]) => `-H ${quoted(`${name}: ${masked(maskedHeader(name, value), secrets)}`)}`,
  );
  return [`curl -X ${method}`, quoted(masked(maskUrl(url), secrets)), ...options, `-d ${quoted(data)}`].join(' ');
}

/** Collects a body, and shows a part of it. */
interface BodyExcerpt {
  add(chunk: Buffer): void;
  /**
   * Returns the shown part, with the secrets masked.
   * @param isComplete whether {@link add} got the whole body.
   */
  shown(secrets: readonly string[], isComplete: boolean): string;
}

/** Shows only the length of a body. The text is LiteLLM's. */
class BodySize implements BodyExcerpt {
  #length = 0;

  add(chunk: Buffer): void {
    this.#length += chunk.length;
  }

  shown(): string {
    return `redacted-by-litellm (${this.#length} bytes)`;
  }
}

/** The first bytes of a body, and the total length. */
class Excerpt implements BodyExcerpt {
  readonly #chunks: Buffer[] = [];
  #stored = 0;
  #length = 0;

  add(chunk: Buffer): void {
    this.#length += chunk.length;
    const room = SHOWN_BYTES - this.#stored;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    this.#chunks.push(part);
    this.#stored += part.length;
  }

  shown(secrets: readonly string[], isComplete: boolean): string {
    const text = masked(Buffer.concat(this.#chunks).toString(), secrets);
    const missing = this.#length - this.#stored;
    if (missing > 0) return `${withoutCutSecret(text, secrets)}… (${missing} bytes more)`;
    return isComplete ? text : withoutCutSecret(text, secrets);
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []));
}

function maskedHeader(name: string, value: string): string {
  const secret = secretOfHeader(name, value);
  return secret === null ? value : value.slice(0, value.length - secret.length) + maskedKey(secret);
}

/**
 * Returns the secret part of a header's value: all of it except an authentication scheme.
 * @param name in any case.
 * @returns null if the name does not suggest a secret.
 */
function secretOfHeader(name: string, value: string): string | null {
  return secretHeader.test(name) ? value.replace(/^(?:Bearer|Basic) /i, '') : null;
}

/**
 * A shorter key is a placeholder, such as `EMPTY`, `none` or `ollama`, and may occur in any text.
 */
const MIN_SECRET_LENGTH = 7;

/**
 * Returns the secrets to search for in texts, the longest first, because one may contain another.
 * @param apiKey null: the deployment has no key.
 * @param headers name and value of each header of a request.
 */
export function searchedSecrets(
  apiKey: string | null,
  headers: readonly (readonly [name: string, value: string])[],
): readonly string[] {
  const found = [apiKey, ...headers.map(([name, value]) => secretOfHeader(name, value))];
  const long = found.flatMap((text) => (text !== null && text.length >= MIN_SECRET_LENGTH ? [text] : []));
  return [...new Set(long)].sort((left, right) => right.length - left.length);
}

function secretsOf({ headers, deployment }: TracedRequest): readonly string[] {
  return searchedSecrets(deployment.apiKey, pairs(headers));
}

/**
 * Masks a key as LiteLLM does: `Be****ey`. Short keys are hidden completely: four characters would
 * be too much of them.
 */
function maskedKey(key: string): string {
  return key.length < 16 ? '****' : `${key.slice(0, 2)}****${key.slice(-2)}`;
}

/** Matches JSON members that clients and configurations use for keys, but not members such as `max_tokens`. */
const secretMember =
  /("[\w-]*(?:api_?key|secret|password|authorization|credential|token)"\s*:\s*)"(?:[^"\\]|\\.)*("|$)/gi;

function masked(text: string, secrets: readonly string[]): string {
  const plain = secrets.reduce((rest, secret) => rest.replaceAll(secret, maskedKey(secret)), text);
  return plain.replace(secretMember, '$1"****"');
}

/** A shorter beginning of a key reveals nothing: many keys begin with `sk-`. */
const MIN_CUT_SECRET_LENGTH = 4;

/** Masks the beginning of a secret at the end of a text. The rest of the secret was cut off. */
function withoutCutSecret(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = secret.length - 1; length >= MIN_CUT_SECRET_LENGTH; length -= 1)
      if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}****`;
  }
  return text;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
