/**
 * Shortens the ids of tool calls that contain signatures of Gemini, for Anthropic's own API. A conversation may reach
 * it after Gemini, for example by a fallback. Such ids have kilobytes, and Anthropic does not say how long ids may be.
 * @see https://platform.claude.com/docs/en/api/messages
 */
import { arrayElements, objectMembers, type Span } from '../../json/navigate.js';
import type { JsonEdit } from '../../json/object.js';
import { parseText } from '../../json/rewrite-answer.js';
import { spliceChunks } from '../../json/splice.js';
import type { Provider } from '../provider.js';
import { shortId, signatureMarks } from './thought-signature.js';

/** The member of a result that names its call. A conversation without results has no calls of earlier turns. */
const RESULT_ID = 'tool_use_id';
const idNames: ReadonlySet<string> = new Set(['id', RESULT_ID]);

/** The translation for requests with Anthropic's form. Other bytes stay unchanged. */
export const shortIds: Required<Pick<Provider, 'translate' | 'translationTriggers'>> = {
  translate: (_endpoint, members) => {
    const messages = members.mayHold('messages', [RESULT_ID]) ? members.bytes('messages') : undefined;
    const edits = messages === undefined ? [] : idEdits(messages);
    if (messages === undefined || edits.length === 0) return new Map();
    return new Map([['messages', Buffer.concat(spliceChunks([messages], messages.length, edits))]]);
  },
  translationTriggers: { members: [], innerKeys: [RESULT_ID] },
};

/** A conversation with more marks stays unchanged, because a single client must not block all other clients. */
const MAX_MARKS = 4_000;

function idEdits(messages: Buffer): readonly JsonEdit[] {
  const marks = signatureMarks(messages, MAX_MARKS);
  if (marks.length === 0) return [];
  const marked = (spans: readonly Span[] | undefined) => spansAround(marks, spans ?? []);
  return marked(arrayElements(messages, 0, messages.length))
    .flatMap((message) => marked(contentBlocks(messages, message)))
    .flatMap((block) => blockEdits(messages, block));
}

/** Returns the spans that contain a position. @param positions in order. @param spans in order. */
function spansAround(positions: readonly number[], spans: readonly Span[]): readonly Span[] {
  let next = 0;
  return spans.filter(({ start, end }) => {
    while ((positions[next] ?? Infinity) < start) next += 1;
    return (positions[next] ?? Infinity) < end;
  });
}

function contentBlocks(messages: Buffer, { start, end }: Span): readonly Span[] | undefined {
  const content = objectMembers(messages, start, end)?.findLast(({ key }) => key === 'content');
  return content && arrayElements(messages, content.valueStart, content.valueEnd);
}

function blockEdits(messages: Buffer, block: Span): readonly JsonEdit[] {
  return (objectMembers(messages, block.start, block.end) ?? []).flatMap(
    ({ key, valueStart: start, valueEnd: end }) => {
      const id = idNames.has(key) ? parseText(messages.toString('utf8', start, end)) : undefined;
      const short = id === undefined ? undefined : shortId(id);
      return short === id ? [] : [{ start, end, replacement: Buffer.from(JSON.stringify(short)) }];
    },
  );
}
