/** Reads the tokens of answers that the proxy forwards without a translation, while their bytes pass. */
import { joinUsage, MAX_USAGE_BYTES, usagesIn, type FoundUsage, type Usage } from '../exchange/answer/usage.js';

/** Each search costs time, so pieces wait until they have this size together. */
const SEARCHED_BYTES = 4096;
const nothing = Buffer.alloc(0);

/** The form of a usage. */
interface UsageForm {
  /** The name of the usage, with its quotes. */
  readonly name: Buffer;
  /** Finds usages in bytes, the last one first. */
  readonly find: (bytes: Buffer) => Iterable<FoundUsage>;
}

/** OpenAI's and Anthropic's form. */
const usualForm: UsageForm = { name: Buffer.from('"usage"'), find: usagesIn };
/** The form of Gemini's own API. @see https://ai.google.dev/api/generate-content#UsageMetadata */
const geminiForm: UsageForm = { name: Buffer.from('"usageMetadata"'), find: lastGeminiUsage };
const LONGEST_NAME = geminiForm.name.length;

/** The form of an answer: `anthropic` is a stream of Anthropic's API. */
export type ScannedApi = 'anthropic' | 'gemini' | 'other';

/**
 * Finds the usage of a text that comes in pieces, and stores only the end of the text. The last usage counts. Anthropic's
 * streams also have the tokens of the request in the first usage.
 */
export class UsageScanner {
  readonly api: ScannedApi;
  readonly #forms: readonly UsageForm[];
  /** The end of the text that was searched: its last usage may be incomplete. */
  #end: Buffer = nothing;
  #first: Usage | null = null;
  #last: Usage | null = null;
  /** The usage in {@link #end}. */
  #open: Usage | null = null;
  #unread: Buffer[] = [];
  #unreadBytes = 0;

  constructor(api: ScannedApi = 'other') {
    this.api = api;
    this.#forms = api === 'gemini' ? [usualForm, geminiForm] : [usualForm];
  }

  /** Reads the next piece of the text. */
  add(piece: Buffer): void {
    this.#unreadBytes += piece.length;
    const waits = this.#unreadBytes < SEARCHED_BYTES;
    // A copy, because a waiting view would keep a much larger buffer in memory.
    this.#unread.push(waits ? Buffer.from(piece) : piece);
    if (!waits) this.#search();
  }

  /** The usage so far; null: none. */
  get usage(): Usage | null {
    this.#search();
    const last = this.#open ?? this.#last;
    if (this.api !== 'anthropic' || last === null || this.#first === null) return last;
    return joinUsage(this.#first, last, 0);
  }

  /** Ends the text, so that the next piece begins another one. @returns null: the text has no usage. */
  take(): Usage | null {
    const { usage } = this;
    this.#end = nothing;
    this.#first = this.#last = this.#open = null;
    return usage;
  }

  #search(): void {
    if (this.#unreadBytes === 0) return;
    const bytes = Buffer.concat([this.#end, ...this.#unread]);
    this.#unread = [];
    this.#unreadBytes = 0;
    // The next search reads an incomplete name again, and the last name that may have an incomplete usage.
    const names = this.#forms.map(({ name }) => bytes.lastIndexOf(name));
    const isOpen = (at: number) => at !== -1 && at > bytes.length - MAX_USAGE_BYTES;
    const start = Math.min(Math.max(0, bytes.length - LONGEST_NAME), ...names.filter(isOpen));
    this.#open = null;
    const found = this.#forms.flatMap(({ find }, index) => (names[index] === -1 ? [] : [...find(bytes)]));
    for (const { at, usage } of found.sort((one, other) => one.at - other.at)) {
      if (at >= start) this.#open = usage;
      else {
        this.#first ??= usage;
        this.#last = usage;
      }
    }
    // A copy, because a view would keep all bytes in memory.
    this.#end = Buffer.from(bytes.subarray(start));
  }
}

/** Finds Gemini's last usage. Its number of candidate tokens does not contain the tokens of the thoughts. */
function lastGeminiUsage(bytes: Buffer): readonly FoundUsage[] {
  const { name: key } = geminiForm;
  // A usage contains no other usage, so its text ends before the next name. With this limit, each byte is read once.
  let end = bytes.length;
  for (let at = bytes.lastIndexOf(key); at !== -1; at = at === 0 ? -1 : bytes.lastIndexOf(key, at - 1)) {
    const text = bytes.toString('latin1', at + key.length, Math.min(end, at + MAX_USAGE_BYTES));
    end = at;
    if (!/^\s*:\s*\{/.test(text)) continue;
    const count = (name: string) => Number(new RegExp(`"${name}"\\s*:\\s*(\\d{1,15})`).exec(text)?.[1] ?? 0);
    const inputTokens = count('promptTokenCount') + count('toolUsePromptTokenCount');
    const outputTokens = count('candidatesTokenCount') + count('thoughtsTokenCount');
    const totalTokens = count('totalTokenCount') || inputTokens + outputTokens;
    if (totalTokens > 0) return [{ at, usage: { inputTokens, outputTokens, totalTokens } }];
  }
  return [];
}
