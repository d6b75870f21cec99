/** Reads the tokens of answers that the proxy forwards without a translation, while their bytes pass. */
import { costOf } from '../exchange/answer/response-cost.js';
import { findUsage, MAX_USAGE_BYTES, type Usage } from '../exchange/answer/usage.js';
import type { Exchange } from '../exchange/exchange.js';
import type { TextListener } from './web-socket/frames.js';

/** Each search costs time, so pieces wait until they have this size together. */
const SEARCHED_BYTES = 4096;
const nothing = Buffer.alloc(0);

/** The form of a usage. */
interface UsageForm {
  /** The name of the usage, with its quotes. */
  readonly name: Buffer;
  /** Finds the last usage in bytes; null: none. */
  readonly find: (bytes: Buffer) => Usage | null;
}

/** OpenAI's and Anthropic's form. */
const usualForm: UsageForm = { name: Buffer.from('"usage"'), find: findUsage };
/** The form of Gemini's own API. @see https://ai.google.dev/api/generate-content#UsageMetadata */
export const geminiForm: UsageForm = { name: Buffer.from('"usageMetadata"'), find: findGeminiUsage };

/** Finds the last usage of a text that comes in pieces. Stores only the end of the text. */
export class UsageScanner {
  readonly #form: UsageForm;
  #end: Buffer = nothing;
  #usage: Usage | null = null;
  readonly #unread: Buffer[] = [];
  #unreadBytes = 0;

  constructor(form: UsageForm = usualForm) {
    this.#form = form;
  }

  /** Reads the next piece of the text. The caller must not change it afterwards. */
  add(piece: Buffer): void {
    this.#unread.push(piece);
    this.#unreadBytes += piece.length;
    if (this.#unreadBytes >= SEARCHED_BYTES) this.#search();
  }

  /** The last usage so far; null: none. */
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
    // If a usage is incomplete here, it is found again with the next piece.
    const { name, find } = this.#form;
    const at = bytes.lastIndexOf(name);
    if (at !== -1) this.#usage = find(bytes) ?? this.#usage;
    const isOpen = at !== -1 && at > bytes.length - MAX_USAGE_BYTES;
    // A copy, because a view would keep all bytes in memory.
    this.#end = Buffer.from(bytes.subarray(isOpen ? at : Math.max(0, bytes.length - name.length + 1)));
  }
}

/** Finds Gemini's usage. Its number of candidate tokens does not contain the tokens of the thoughts. */
function findGeminiUsage(bytes: Buffer): Usage | null {
  const { name: key } = geminiForm;
  const at = bytes.lastIndexOf(key);
  if (at === -1) return null;
  const text = bytes.toString('latin1', at + key.length, at + MAX_USAGE_BYTES);
  const count = (name: string) => Number(new RegExp(`"${name}"\\s*:\\s*(\\d{1,15})`).exec(text)?.[1] ?? 0);
  const inputTokens = count('promptTokenCount') + count('toolUsePromptTokenCount');
  const outputTokens = count('candidatesTokenCount') + count('thoughtsTokenCount');
  const totalTokens = count('totalTokenCount') || inputTokens + outputTokens;
  return totalTokens === 0 ? null : { inputTokens, outputTokens, totalTokens };
}

/** Returns a listener that adds up the usage of an upstream's messages, such as `response.done`. */
export function usageReader(exchange: Exchange): TextListener {
  const scanner = new UsageScanner();
  return {
    onPiece: (piece) => scanner.add(piece),
    onEnd: () => {
      const usage = scanner.take();
      if (usage !== null) addUsage(exchange, usage);
    },
  };
}

/**
 * Adds the usage of one of several answers of a request, such as a response of a WebSocket. Each answer has its own
 * cost, because prices can depend on the kinds of tokens and on the size of an answer's input.
 */
function addUsage(exchange: Exchange, usage: Usage): void {
  const before = exchange.usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0, cost: 0 };
  const deployment = exchange.selection?.deployment;
  exchange.usage = {
    inputTokens: before.inputTokens + usage.inputTokens,
    outputTokens: before.outputTokens + usage.outputTokens,
    totalTokens: before.totalTokens + usage.totalTokens,
    cost: (before.cost ?? 0) + (deployment === undefined ? 0 : (costOf(deployment, usage) ?? 0)),
  };
}
