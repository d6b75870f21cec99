/**
 * Translates between the content blocks of Anthropic and of Bedrock's Converse API. Both APIs have the same
 * kinds of blocks, so Anthropic's translation does the rest: from OpenAI's chat, and to OpenAI's chat.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
 */
import { createHash } from 'node:crypto';
import { invalidParameter } from '../../errors/model.js';
import type { Block } from '../anthropic/content.js';
import { recordOf, recordsOf, textOf } from '../anthropic/values.js';

/** Media type → Bedrock's format of a document. */
const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
]);

const cachePoint: Block = { cachePoint: { type: 'default' } };

/** Translates blocks, and adds a cache point after each block with `cache_control`. */
export function withCachePoints(blocks: readonly Block[], translate: (block: Block) => Block): readonly Block[] {
  return blocks.flatMap((block) =>
    block['cache_control'] === undefined ? [translate(block)] : [translate(block), cachePoint],
  );
}

/**
 * The names of the documents of a request, which Bedrock requires to differ. A later turn repeats the documents of
 * earlier turns with the same names, so that caches of prompts still match.
 */
export class DocumentNames {
  readonly #counts = new Map<string, number>();

  /** Returns a name for the content, with a number if an earlier document has the same content. */
  nameOf(content: string): string {
    const name = createHash('sha256').update(content).digest('hex').slice(0, 16);
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    return count === 1 ? name : `${name}-${count}`;
  }
}

/**
 * Translates a block to Converse.
 * @param names the names of the documents in the request so far.
 * @throws {ProxyError} 400: Converse has no such block or no such type of file, or the block has a URL.
 */
export function converseBlock(block: Block, names: DocumentNames): Block {
  const { type, text, source } = block;
  switch (type) {
    case 'text':
      return { text };
    case 'image':
      return { image: { format: bytesOf(source).subtype, source: { bytes: bytesOf(source).data } } };
    case 'document': {
      const { mediaType, data } = bytesOf(source);
      const format = documentFormats.get(mediaType);
      if (format === undefined) throw invalidParameter('messages', `has a file of type '${mediaType}'`);
      return { document: { format, name: names.nameOf(data), source: { bytes: data } } };
    }
    case 'tool_use':
      return { toolUse: { toolUseId: block['id'], name: block['name'], input: block['input'] } };
    case 'tool_result': {
      const content = recordsOf(block['content']).map((part) => converseBlock(part, names));
      return {
        toolResult: {
          toolUseId: block['tool_use_id'],
          content: content.length === 0 ? [{ text: '(empty)' }] : content,
        },
      };
    }
    case 'thinking':
      return { reasoningContent: { reasoningText: { text: block['thinking'], signature: block['signature'] } } };
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: block['data'] } };
    default:
      throw invalidParameter('messages', `has a part of type ${JSON.stringify(type)}, which Bedrock does not have`);
  }
}

/** Returns the base64 of a source. @throws {ProxyError} 400: the source is a URL, which Bedrock does not download. */
function bytesOf(source: unknown): { readonly mediaType: string; readonly subtype: string; readonly data: string } {
  const { type, media_type: media, data } = recordOf(source) ?? {};
  if (type !== 'base64' || typeof data !== 'string')
    throw invalidParameter('messages', 'has a picture or a file whose URL does not begin with data:…;base64,');
  const mediaType = (textOf(media) ?? '').toLowerCase();
  return { mediaType, subtype: mediaType.replace(/^image\//, '').replace(/^jpg$/, 'jpeg'), data };
}

/** Translates a block of an answer to Anthropic's form; undefined: OpenAI's answers cannot contain it. */
export function anthropicBlock(block: Block): Block | undefined {
  const { text, toolUse, reasoningContent } = block;
  if (typeof text === 'string') return { type: 'text', text };
  const call = recordOf(toolUse);
  if (call !== undefined) {
    const { toolUseId: id, name, input } = call;
    return { type: 'tool_use', id, name, input: input ?? {} };
  }
  const reasoning = recordOf(reasoningContent);
  const thought = recordOf(reasoning?.['reasoningText']);
  if (thought !== undefined) {
    const { text: thinking, signature } = thought;
    return { type: 'thinking', thinking, ...(signature === undefined ? {} : { signature }) };
  }
  const redacted = reasoning?.['redactedContent'];
  return redacted === undefined ? undefined : { type: 'redacted_thinking', data: redacted };
}
