/** Rewrites `messages` for vLLM's chat. Other bytes stay unchanged. */
import { parseText } from '../../json/rewrite-answer.js';
import { arrayElements, objectMembers } from '../../json/navigate.js';
import type { JsonEdit, JsonMember } from '../../json/object.js';
import { memberEdits, spliceChunks } from '../../json/splice.js';

/**
 * Converts messages to vLLM's form:
 * - an assistant's `thinking_blocks` to parts of its content
 * - a user's `file` with a video to `video_url`
 * - an `image_url` with a text to an object
 * @param messages the member's value as JSON.
 * @returns the same buffer if nothing changed.
 */
export function vllmMessages(messages: Buffer): Buffer {
  const edits: JsonEdit[] = [];
  for (const { start, end } of arrayElements(messages, 0, messages.length) ?? []) {
    const members = objectMembers(messages, start, end);
    if (members === undefined) continue;
    const content = lastMember(members, 'content');
    const blocks = lastMember(members, 'thinking_blocks');
    const role = textAt(messages, lastMember(members, 'role'));
    if (role === 'assistant' && blocks !== undefined) {
      edits.push(...withThinking(messages, { members, start, blocks, content }));
    } else if (content !== undefined) {
      edits.push(...partEdits(messages, content, role));
    }
  }
  return edits.length === 0 ? messages : Buffer.concat(spliceChunks([messages], messages.length, edits));
}

interface Assistant {
  readonly members: readonly JsonMember[];
  readonly start: number;
  readonly blocks: JsonMember;
  readonly content: JsonMember | undefined;
}

function withThinking(bytes: Buffer, { members, start, blocks, content }: Assistant): JsonEdit[] {
  const removed = new Set(members.filter(({ key }) => key === 'thinking_blocks'));
  const thoughts = (arrayElements(bytes, blocks.valueStart, blocks.valueEnd) ?? []).flatMap((element) => {
    const block = objectMembers(bytes, element.start, element.end);
    return block === undefined ? [] : [thought(bytes, block)];
  });
  if (thoughts.length === 0) return memberEdits({ members, start }, { removed });
  const parts = `[${[...thoughts, ...contentParts(bytes, content)].join(',')}]`;
  if (content === undefined) return memberEdits({ members, start }, { removed, added: [['content', parts]] });
  return memberEdits({ members, start }, { removed, replaced: new Map([[content, parts]]) });
}

/**
 * Returns the content part for a thinking block. It has the text or the encrypted data, but no
 * signature.
 */
function thought(bytes: Buffer, block: readonly JsonMember[]): string {
  const type = lastMember(block, 'type');
  const name = textAt(bytes, type) === 'thinking' ? 'thinking' : 'data';
  const text = jsonText(bytes, lastMember(block, name)) ?? '""';
  return `{"type":${jsonText(bytes, type) ?? 'null'},"${name}":${text}}`;
}

function contentParts(bytes: Buffer, content: JsonMember | undefined): string[] {
  const text = jsonText(bytes, content);
  if (content === undefined || text === undefined) return [];
  if (text.startsWith('"')) return [`{"type":"text","text":${text}}`];
  const elements = arrayElements(bytes, content.valueStart, content.valueEnd) ?? [];
  return elements.map(({ start, end }) => bytes.toString('utf8', start, end));
}

function partEdits(bytes: Buffer, content: JsonMember, role: string | undefined): JsonEdit[] {
  const edits: JsonEdit[] = [];
  for (const { start, end } of arrayElements(bytes, content.valueStart, content.valueEnd) ?? []) {
    const part = objectMembers(bytes, start, end);
    if (part === undefined) continue;
    const type = textAt(bytes, lastMember(part, 'type'));
    if (type === 'image_url') {
      const image = lastMember(part, 'image_url');
      const url = jsonText(bytes, image);
      if (image === undefined || url?.startsWith('"') !== true) continue;
      edits.push({ start: image.valueStart, end: image.valueEnd, replacement: Buffer.from(`{"url":${url}}`) });
    } else if (type === 'file' && role === 'user') {
      const url = videoUrl(bytes, lastMember(part, 'file'));
      if (url === undefined) continue;
      edits.push({ start, end, replacement: Buffer.from(`{"type":"video_url","video_url":{"url":${url}}}`) });
    }
  }
  return edits;
}

const videoNames = /\.(mp4|m4v|mov|webm|mkv|avi|mpe?g|flv|wmv|3gpp?)([?#]|$)/i;

/** Returns the JSON text of a video's URL or data; undefined: the file does not declare a video. */
function videoUrl(bytes: Buffer, file: JsonMember | undefined): string | undefined {
  const members = file && objectMembers(bytes, file.valueStart, file.valueEnd);
  if (members === undefined) return undefined;
  const id = lastMember(members, 'file_id');
  const data = lastMember(members, 'file_data');
  const source = textAt(bytes, id) === undefined ? data : id;
  if (source === undefined || bytes[source.valueStart] !== 0x22) return undefined;
  const format = textAt(bytes, lastMember(members, 'format'));
  const isVideo =
    format !== undefined
      ? format.startsWith('video/')
      : data !== undefined
        ? bytes.toString('latin1', data.valueStart, data.valueStart + 12) === '"data:video/'
        : videoNames.test(textAt(bytes, id) ?? '');
  return isVideo ? jsonText(bytes, source) : undefined;
}

function lastMember(members: readonly JsonMember[], name: string): JsonMember | undefined {
  return members.findLast(({ key }) => key === name);
}

/** Returns the value of a member; undefined: the member is missing or not a text. */
function textAt(bytes: Buffer, member: JsonMember | undefined): string | undefined {
  return member && parseText(bytes.toString('utf8', member.valueStart, member.valueEnd));
}

function jsonText(bytes: Buffer, member: JsonMember | undefined): string | undefined {
  return member && bytes.toString('utf8', member.valueStart, member.valueEnd);
}
