/**
 * Translates the parts of OpenAI's messages to Anthropic's content blocks.
 * @see https://platform.claude.com/docs/en/build-with-claude/vision
 * @see https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
import { invalidParameter } from '../../errors/model.js';
import { recordOf, textOf } from './values.js';

/** A content block of Anthropic's API. */
export type Block = Readonly<Record<string, unknown>>;

/**
 * Translates the `content` of a message. Omits texts that are empty or only white space, because Anthropic
 * rejects empty texts. Parts that OpenAI does not have, such as `document`, stay unchanged.
 * @throws {ProxyError} 400: a part is invalid, or Anthropic has no counterpart for it.
 */
export function blocksOf(content: unknown): Block[] {
  if (typeof content === 'string') return textBlocks(content, {});
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) throw invalidParameter('messages', 'has a content that is neither a text nor a list');
  return content.flatMap((part: unknown) => {
    if (typeof part === 'string') return textBlocks(part, {});
    const members = recordOf(part);
    if (members === undefined) throw invalidParameter('messages', 'has a part that is not an object');
    return partBlocks(members);
  });
}

function textBlocks(text: string, more: Block): Block[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...more }];
}

function partBlocks(part: Block): Block[] {
  switch (part['type']) {
    case 'text': {
      const text = textOf(part['text']);
      if (text === undefined) throw invalidParameter('messages', "has a part of type 'text' without a text");
      return textBlocks(text, cacheControlOf(part));
    }
    case 'refusal':
      return textBlocks(textOf(part['refusal']) ?? '', {});
    case 'image_url': {
      const { image_url: image } = part;
      const url = textOf(image) ?? textOf(recordOf(image)?.['url']);
      if (url === undefined) throw invalidParameter('messages', "has a part of type 'image_url' without a URL");
      return [{ type: 'image', source: sourceOf(url), ...cacheControlOf(part) }];
    }
    case 'file':
      return [{ type: 'document', source: fileSource(recordOf(part['file']) ?? {}), ...cacheControlOf(part) }];
    case 'input_audio':
    case 'video_url':
      throw invalidParameter('messages', `has a part of type '${part['type']}', which Anthropic's API does not have`);
    default:
      return [part];
  }
}

/** Returns an object with the `cache_control` of a part, of a message or of a tool; empty if there is none. */
export function cacheControlOf(holder: Block): Block {
  const { cache_control: cacheControl } = holder;
  return cacheControl === undefined || cacheControl === null ? {} : { cache_control: cacheControl };
}

const dataUrl = /^data:([^;,]+)(?:;[^,]*)?;base64,/i;

function sourceOf(url: string): Block {
  const data = dataUrl.exec(url);
  if (data !== null) return { type: 'base64', media_type: data[1], data: url.slice(data[0].length) };
  if (/^https:\/\//i.test(url)) return { type: 'url', url };
  throw invalidParameter('messages', 'has an image whose URL begins with neither https:// nor data:…;base64,');
}

function fileSource(file: Block): Block {
  const data = textOf(file['file_data']);
  if (data !== undefined) return sourceOf(data);
  const id = textOf(file['file_id']);
  if (id === undefined) throw invalidParameter('messages', "has a part of type 'file' without file_data or file_id");
  return /^https:\/\//i.test(id) ? { type: 'url', url: id } : { type: 'file', file_id: id };
}
