/**
 * Estimates the tokens of a request of Anthropic's API, for upstreams that cannot count them. The
 * numbers follow OpenAI's tokenizers, as LiteLLM's do, without their tables of 200,000 words.
 */
import { recordOf, textOf } from '../anthropic/values.js';

/** Tokens of a message besides its content, and of the beginning of the answer. */
const MESSAGE_TOKENS = 3;
/** Counted tokens of each picture, as of one with a million pixels. Anthropic and OpenAI count between 85 and 1600. */
const IMAGE_TOKENS = 1000;
/** Characters of base64 per token of a file. A page of a PDF has about 2,500 tokens and 50 KB. */
const FILE_CHARACTERS_OF_TOKEN = 25;

/** The parts of a request that a model reads, as parsed JSON. */
interface CountedRequest {
  readonly system: unknown;
  readonly messages: unknown;
  readonly tools: unknown;
}

/** Returns the number of tokens, which may differ from the upstream's number. */
export function estimateTokens({ system, messages, tools }: CountedRequest): number {
  const turns = Array.isArray(messages) ? messages.length : 0;
  const files = { tokens: 0 };
  const text = [system, messages].map((value) => textIn(value, files)).join('\n');
  const schemas = tools === undefined ? '' : JSON.stringify(tools);
  return MESSAGE_TOKENS * (turns + 1) + files.tokens + tokensOfText(text) + tokensOfText(schemas);
}

/** Collects the texts of messages and blocks, and counts pictures and files. */
function textIn(value: unknown, files: { tokens: number }): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((element: unknown) => textIn(element, files)).join('\n');
  const block = recordOf(value);
  if (block === undefined) return '';
  const { type, source, input, name } = block;
  const data = recordOf(source)?.['data'];
  if (type === 'image') files.tokens += IMAGE_TOKENS;
  else if (recordOf(source)?.['type'] === 'text') return textIn(data, files);
  else if (source !== undefined)
    files.tokens += typeof data === 'string' ? Math.ceil(data.length / FILE_CHARACTERS_OF_TOKEN) : IMAGE_TOKENS;
  const call = type === 'tool_use' ? `${textOf(name) ?? ''} ${JSON.stringify(input ?? {})}` : '';
  return [call, ...['role', 'text', 'thinking', 'content'].map((key) => textIn(block[key], files))].join('\n');
}

/**
 * Matches the pieces into which OpenAI's tokenizers split a text before they look for words: a word with
 * the space before it, up to three digits, punctuation, white space.
 */
const pieces = / ?\p{L}+| ?\p{N}{1,3}|[^\p{L}\p{N}\s]+|\s+/gu;
/** Matches letters of scripts in which a token has about one character. */
const denseScript = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]/u;
/** Longest word that is usually a single token. */
const WORD_LETTERS = 7;
const LETTERS_OF_TOKEN = 4;
const OTHER_LETTERS_OF_TOKEN = 3.8;
const SIGNS_OF_TOKEN = 2.5;
/**
 * Tokens of a run of white space that is not part of another piece. The number is below 1, because the tokenizer
 * often joins the run to the token before or after it.
 */
const TOKENS_OF_SPACE = 0.6;
/** The counted beginning of a long text. Counting so many characters takes about 20 ms. */
const MAX_COUNTED_CHARACTERS = 100_000;

/**
 * Returns the tokens of a text. Counts only the beginning of a long text and multiplies the result, because a
 * single client must not block all other clients.
 */
function tokensOfText(text: string): number {
  const counted = text.slice(0, MAX_COUNTED_CHARACTERS);
  let tokens = 0;
  for (const [piece] of counted.matchAll(pieces)) tokens += tokensOfPiece(piece);
  return text === '' ? 0 : Math.ceil((tokens * text.length) / counted.length);
}

function tokensOfPiece(piece: string): number {
  const word = piece.trim();
  if (word === '') return TOKENS_OF_SPACE;
  if (/^[\p{N}]/u.test(word)) return 1;
  if (!/^\p{L}/u.test(word)) return Math.max(1, word.length / SIGNS_OF_TOKEN);
  if (denseScript.test(word)) return word.length * 0.8;
  if (/^[a-z]+$/i.test(word))
    return word.length <= WORD_LETTERS ? 1 : 1 + (word.length - WORD_LETTERS) / LETTERS_OF_TOKEN;
  return Math.max(1, word.length / OTHER_LETTERS_OF_TOKEN);
}
