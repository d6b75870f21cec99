/** Reads the tokens of answers that the proxy forwards without a translation, while their bytes pass. */
import { costOf } from '../exchange/answer/response-cost.js';
import { findUsage, MAX_USAGE_BYTES, type Usage } from '../exchange/answer/usage.js';
import type { Exchange } from '../exchange/exchange.js';
import type { TextListener } from './web-socket/frames.js';

/** Bytes before the next piece that are searched again: a usage may begin in them. */
const OVERLAP_BYTES = MAX_USAGE_BYTES;
const nothing = Buffer.alloc(0);
const geminiKey = Buffer.from('"usageMetadata"');

/** Finds the last usage in bytes; null: none. */
type FindUsage = (bytes: Buffer) => Usage | null;

/** Finds the last usage of a text that comes in pieces. Stores only the end of the text. */
export class UsageScanner {
  readonly #find: FindUsage;
  #end: Buffer = nothing;
  #usage: Usage | null = null;

  constructor(find: FindUsage = findUsage) {
    this.#find = find;
  }

  /** Reads the next piece of the text. */
  add(piece: Buffer): void {
    const bytes = this.#end.length === 0 ? piece : Buffer.concat([this.#end, piece]);
    // If a usage is incomplete here, it is found again with the next piece.
    this.#usage = this.#find(bytes) ?? this.#usage;
    // A copy, because a view would keep the whole piece in memory.
    this.#end = Buffer.from(bytes.subarray(Math.max(0, bytes.length - OVERLAP_BYTES)));
  }

  /** The last usage so far; null: none. */
  get usage(): Usage | null {
    return this.#usage;
  }

  /** Ends the text, so that the next piece begins another one. @returns null: the text has no usage. */
  take(): Usage | null {
    const usage = this.#usage;
    this.#usage = null;
    this.#end = nothing;
    return usage;
  }
}

/**
 * Finds the usage in an answer of Gemini's own API. The candidates do not contain the tokens of the thoughts.
 * @see https://ai.google.dev/api/generate-content#UsageMetadata
 */
export function findGeminiUsage(bytes: Buffer): Usage | null {
  const at = bytes.lastIndexOf(geminiKey);
  if (at === -1) return null;
  const text = bytes.toString('latin1', at + geminiKey.length, at + MAX_USAGE_BYTES);
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
