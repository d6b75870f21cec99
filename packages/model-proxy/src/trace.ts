/** `--detailed_debug`: what an upstream is sent, as a curl line, and what it answers, raw; keys masked, both cut at a limit. */
import type { Log } from '@rackless/daemon/log.js';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { ProxyError } from './errors.js';
import { secretHeader } from './secret-names.js';

/** One call being watched. */
export interface TracedCall {
  head(status: number, headers: readonly string[]): void;
  data(chunk: Buffer): void;
  end(): void;
  fail(error: ProxyError): void;
}

/** What there is to see of a request to an upstream. */
export interface TracedRequest {
  readonly method: string;
  readonly url: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
  readonly body: readonly Buffer[];
  /** Its key is masked wherever it stands, and so is what headers with telling names hold. */
  readonly deployment: { readonly apiKey: string | null };
}

export interface Trace {
  /** @param id of the client's request. */
  sending(id: string, request: TracedRequest): TracedCall;
}

/** Of a body or an answer. */
const SHOWN_BYTES = 16_384;

/** Tells everything at level `debug`. */
export function createTrace(log: Pick<Log, 'debug'>): Trace {
  return {
    sending: (id, request) => {
      const secrets = secretsOf(request);
      log.debug(`POST Request Sent from LiteLLM: ${curlLine(request)}`, { id });
      const kept = new Kept();
      let answer = '';
      const tell = (how: string) => log.debug(`RAW RESPONSE${how}: ${answer}${masked(kept.text, secrets)}`, { id });
      return {
        head: (status, headers) => {
          const shown = pairs(headers).map(([name, value]) => `${name}: ${maskedHeader(name, value)}`);
          answer = `${status} [${shown.join('; ')}] `;
        },
        data: (chunk) => kept.add(chunk),
        end: () => tell(''),
        fail: (error) => tell(` broke off, ${error.kind}: ${error.message}`),
      };
    },
  };
}

/** One line for a shell, keys masked. */
export function curlLine(request: TracedRequest): string {
  const { method, url, headers, body } = request;
  const kept = new Kept();
  for (const chunk of body) kept.add(chunk);
  // In JSON a line end can only be white space: a blank keeps it one line.
  const data = masked(kept.text.replaceAll(/\r?\n/g, ' '), secretsOf(request));
  const options = pairs(headers).map(([name, value]) => `-H ${quoted(`${name}: ${maskedHeader(name, value)}`)}`);
  return [`curl -X ${method}`, quoted(maskUrl(url)), ...options, `-d ${quoted(data)}`].join(' ');
}

/** The first bytes of a body, and how many there were. */
class Kept {
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #length = 0;

  add(chunk: Buffer): void {
    this.#length += chunk.length;
    const room = SHOWN_BYTES - this.#kept;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  get text(): string {
    const text = Buffer.concat(this.#chunks).toString();
    return this.#length > this.#kept ? `${text}… (${this.#length - this.#kept} bytes more)` : text;
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, index): [string, string][] => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []));
}

function maskedHeader(name: string, value: string): string {
  const secret = secretOfHeader(name, value);
  return secret === null ? value : value.slice(0, value.length - secret.length) + maskedKey(secret);
}

/** What of a header must not be shown: all but a scheme; null: its name does not sound like it. @param name in any case. */
export function secretOfHeader(name: string, value: string): string | null {
  return secretHeader.test(name) ? value.replace(/^(?:Bearer|Basic) /i, '') : null;
}

/** Shorter ones would take words of others with them. */
const SHORTEST_SECRET = 4;

function secretsOf({ headers, deployment }: TracedRequest): readonly string[] {
  const found = [deployment.apiKey, ...pairs(headers).map(([name, value]) => secretOfHeader(name, value))];
  return [...new Set(found.flatMap((text) => (text !== null && text.length >= SHORTEST_SECRET ? [text] : [])))];
}

/** As LiteLLM shows keys, `Be****ey`; of a short one nothing, as four letters of it would be half of it. */
function maskedKey(key: string): string {
  return key.length < 16 ? '****' : `${key.slice(0, 2)}****${key.slice(-2)}`;
}

/** Members that clients and configurations put keys into. `max_tokens` and the like are none. */
const secretMember =
  /("[\w-]*(?:api_?key|secret|password|authorization|credential|token)"\s*:\s*)"(?:[^"\\]|\\.)*("|$)/gi;

function masked(text: string, secrets: readonly string[]): string {
  const plain = secrets.reduce((rest, secret) => rest.replaceAll(secret, maskedKey(secret)), text);
  return plain.replace(secretMember, '$1"****"');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
