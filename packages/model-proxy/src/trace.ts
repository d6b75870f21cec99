/** `--detailed_debug`: what an upstream is sent, as a curl line, and what it answers, raw; keys masked, both cut at a limit. */
import type { Log } from '@rackless/daemon/log.js';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import type { ProxyError } from './errors.js';

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
  /** Its key is masked wherever it stands. */
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
      const { apiKey } = request.deployment;
      log.debug(`POST Request Sent from LiteLLM: ${curlLine(request)}`, { id });
      const kept = new Kept();
      let answer = '';
      const tell = (how: string) => log.debug(`RAW RESPONSE${how}: ${answer}${masked(kept.text, apiKey)}`, { id });
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
export function curlLine({ method, url, headers, body, deployment }: TracedRequest): string {
  const kept = new Kept();
  for (const chunk of body) kept.add(chunk);
  // In JSON a line end can only be white space: a blank keeps it one line.
  const data = masked(kept.text.replaceAll(/\r?\n/g, ' '), deployment.apiKey);
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

const secretHeader = /auth|key|token|secret|cookie|password|credential/i;

function maskedHeader(name: string, value: string): string {
  if (!secretHeader.test(name)) return value;
  const scheme = /^(?:Bearer|Basic) /i.exec(value)?.[0] ?? '';
  return scheme + maskedKey(value.slice(scheme.length));
}

/** As LiteLLM shows keys, `Be****ey`; of a short one nothing, as four letters of it would be half of it. */
function maskedKey(key: string): string {
  return key.length < 16 ? '****' : `${key.slice(0, 2)}****${key.slice(-2)}`;
}

/** Members that clients and configurations put keys into. `max_tokens` and the like are none. */
const secretMember =
  /("[\w-]*(?:api_?key|secret|password|authorization|credential|token)"\s*:\s*)"(?:[^"\\]|\\.)*("|$)/gi;

function masked(text: string, apiKey: string | null): string {
  const plain = apiKey === null || apiKey === '' ? text : text.replaceAll(apiKey, maskedKey(apiKey));
  return plain.replace(secretMember, '$1"****"');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
