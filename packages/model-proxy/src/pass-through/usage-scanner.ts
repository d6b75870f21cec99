/** Reads the tokens of answers that the proxy forwards without a translation, while their bytes pass. */
import { costOf } from '../exchange/answer/response-cost.js';
import { MAX_USAGE_BYTES, usagesIn, type Usage } from '../exchange/answer/usage.js';
import type { Exchange } from '../exchange/exchange.js';
import type { RawFamily } from './paths.js';
import type { TextListener } from './web-socket/frames.js';

/** Each search costs time, so pieces wait until they have this size together. */
const SEARCHED_BYTES = 4096;
/** Number of bytes at the beginning of a message in which its type is. */
const TYPE_BYTES = 256;
/** Bytes of the longest name of a usage. */
const LONGEST_NAME = '"usageMetadata"'.length;
const nothing = Buffer.alloc(0);

/** The form of a usage. */
interface UsageForm {
  /** The name of the usage, with its quotes. */
  readonly name: Buffer;
  /** Returns all usages in bytes. */
  readonly find: (bytes: Buffer) => Iterable<Usage>;
}

/** OpenAI's and Anthropic's form. */
const usualForm: UsageForm = { name: Buffer.from('"usage"'), find: usagesIn };
/** The form of Gemini's own API. @see https://ai.google.dev/api/generate-content#UsageMetadata */
const geminiForm: UsageForm = { name: Buffer.from('"usageMetadata"'), find: geminiUsagesIn };

/**
 * Finds the usage of a text that comes in pieces, and stores only the end of the text. Several usages of the same
 * answer are one: Anthropic's streams begin with the tokens of the request, and some servers send the usage so far with
 * each event. So each number is the largest one.
 */
export class UsageScanner {
  readonly #forms: readonly UsageForm[];
  #end: Buffer = nothing;
  #usage: Usage | null = null;
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;

  /** @param family `gemini`: also finds the usage of Gemini's own API. */
  constructor(family?: RawFamily) {
    this.#forms = family === 'gemini' ? [usualForm, geminiForm] : [usualForm];
  }

  /** Reads the next piece of the text. The caller must not change it afterwards. */
  add(piece: Buffer): void {
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes >= SEARCHED_BYTES) this.#search();
  }

  /** The usage so far; null: none. */
  get usage(): Usage | null {
    this.#search();
    return this.#usage;
  }

  /** Ends the text, so that the next piece begins another one. @returns null: the text has no usage. */
  take(): Usage | null {
    const { usage } = this;
    this.#usage = null;
    this.#end = nothing;
    return usage;
  }

  #search(): void {
    if (this.#unreadBytes === 0) return;
    const bytes = Buffer.concat([this.#end, ...this.#unread]);
    this.#unread.length = 0;
    this.#unreadBytes = 0;
    // A name may be incomplete at the end, and so may the usage after a name. The next search reads them again.
    let open = Math.max(0, bytes.length - LONGEST_NAME);
    for (const { name, find } of this.#forms) {
      const at = bytes.lastIndexOf(name);
      if (at === -1) continue;
      for (const usage of find(bytes)) this.#usage = largerOf(this.#usage, usage);
      if (at > bytes.length - MAX_USAGE_BYTES) open = Math.min(open, at);
    }
    // A copy, because a view would keep all bytes in memory.
    this.#end = Buffer.from(bytes.subarray(open));
  }
}

/**
 * Returns the larger numbers of two usages of the same answer. Ignores a usage of 0 tokens: a client can cause it in a
 * schema that the upstream sends back.
 * @param one null: there is only `other`.
 */
export function largerOf(one: Usage | null, other: Usage): Usage | null {
  if (other.totalTokens === 0) return one;
  if (one === null) return other;
  const inputTokens = Math.max(one.inputTokens, other.inputTokens);
  const outputTokens = Math.max(one.outputTokens, other.outputTokens);
  const totalTokens = Math.max(one.totalTokens, other.totalTokens, inputTokens + outputTokens);
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    sources: [...(one.sources ?? []), ...(other.sources ?? [])].slice(-4),
  };
}

/** Finds Gemini's last usage. Its number of candidate tokens does not contain the tokens of the thoughts. */
function geminiUsagesIn(bytes: Buffer): Iterable<Usage> {
  const { name: key } = geminiForm;
  const at = bytes.lastIndexOf(key) + key.length;
  const text = bytes.toString('latin1', at, at + MAX_USAGE_BYTES);
  const count = (name: string) => Number(new RegExp(`"${name}"\\s*:\\s*(\\d{1,15})`).exec(text)?.[1] ?? 0);
  const inputTokens = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const outputTokens = count('candidatesTokenCount') + count('thoughtsTokenCount');
  return [{ inputTokens, outputTokens, totalTokens: count('totalTokenCount') || inputTokens + outputTokens }];
}

/**
 * Adds up the usage in the messages of a WebSocket's upstream, such as `response.done`. Estimates the usage of an answer
 * that has begun but has no usage yet, because a side may close the WebSocket at any time.
 */
export class WebSocketUsage implements TextListener {
  readonly #exchange: Exchange;
  readonly #scanner = new UsageScanner();
  #isInMessage = false;
  /** The sum of the reported usages. */
  #reported: Usage | null = null;
  /** Number of messages with a part of an answer since the last usage. */
  #parts = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  onPiece(piece: Buffer): void {
    if (!this.#isInMessage && piece.subarray(0, TYPE_BYTES).includes('.delta"')) {
      this.#parts += 1;
      this.#exchange.usage = this.#sumWith({ inputTokens: 0, outputTokens: this.#parts, totalTokens: this.#parts });
    }
    this.#isInMessage = true;
    this.#scanner.add(piece);
  }

  onEnd(): void {
    this.#isInMessage = false;
    const usage = this.#scanner.take();
    if (usage === null) return;
    this.#parts = 0;
    this.#reported = this.#sumWith(usage);
    this.#exchange.usage = this.#reported;
  }

  /**
   * Adds the usage of an answer to those of earlier answers. Each answer has its own cost, because prices can depend on
   * the kinds of tokens and on the size of an answer's input.
   */
  #sumWith(usage: Usage): Usage {
    const before = this.#reported ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0, cost: 0 };
    const deployment = this.#exchange.selection?.deployment;
    return {
      inputTokens: before.inputTokens + usage.inputTokens,
      outputTokens: before.outputTokens + usage.outputTokens,
      totalTokens: before.totalTokens + usage.totalTokens,
      cost: (before.cost ?? 0) + (deployment === undefined ? 0 : (costOf(deployment, usage) ?? 0)),
    };
  }
}
