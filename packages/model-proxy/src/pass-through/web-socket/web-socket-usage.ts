/** Counts the tokens of a WebSocket. */
import { costOf } from '../../exchange/answer/response-cost.js';
import type { Usage } from '../../exchange/answer/usage.js';
import type { Exchange } from '../../exchange/exchange.js';
import { UsageScanner } from '../usage-scanner.js';
import type { TextListener } from './frames.js';

/** Number of bytes at the beginning of a message in which its type is. */
const TYPE_BYTES = 512;
/** Matches types of messages that only send back what the client has configured. A client could put a usage there. */
const repeated = /(?:created|updated|added|retrieved|queued|in_progress)$/;
/** Matches types of messages that end an answer. */
const answerEnd = /^response\.(?:done|completed|incomplete|failed)$/;

/**
 * Adds up the usage in the messages of a WebSocket's upstream, such as `response.done`. Estimates the output of an answer
 * that has begun but has no usage yet, because a side may close the WebSocket at any time.
 */
export class WebSocketUsage implements TextListener {
  readonly #exchange: Exchange;
  readonly #scanner = new UsageScanner();
  /** The beginning of the message in progress. */
  #beginning = '';
  /** The sum of the reported usages. */
  #reported: Usage | null = null;
  /** Number of messages with a part of an answer since the last complete answer. */
  #parts = 0;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.estimateUsage = () =>
      this.#sumWith({ inputTokens: 0, outputTokens: this.#parts, totalTokens: this.#parts });
  }

  onPiece(piece: Buffer): void {
    const missing = TYPE_BYTES - this.#beginning.length;
    if (missing > 0) this.#beginning += piece.toString('latin1', 0, missing);
    this.#scanner.add(piece);
  }

  onEnd(): void {
    const usage = this.#scanner.take();
    const type = /"type"\s*:\s*"([\w.]*)"/.exec(this.#beginning)?.[1] ?? '';
    this.#beginning = '';
    if (type.endsWith('.delta')) this.#parts += 1;
    else if (usage !== null && !repeated.test(type)) {
      if (answerEnd.test(type)) this.#parts = 0;
      this.#reported = this.#sumWith(usage);
      this.#exchange.usage = this.#reported;
    }
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
