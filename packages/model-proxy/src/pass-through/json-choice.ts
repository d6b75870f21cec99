/** What the JSON of a raw request says of where it wants to go. It need not be JSON at all: that is for the upstream to say. */
import { ambiguousMember } from '../errors.js';
import { JsonError, type JsonMember, type JsonObject } from '../json/object.js';
import { JsonObjectScanner } from '../json/scanner.js';
import { memberEdits, spliceJson, type MemberChanges } from '../json/splice.js';
import { isInOtherCase, memberNamed, textOf, valueOf } from '../json/text.js';

/** Texts that stand at the top of a body. */
export interface JsonChoice {
  /** @returns undefined: it is not there, or no text. @throws {ProxyError} 400: twice, once in another case, or spelled with escapes. */
  text(name: string): string | undefined;
  /** Texts of a list, or of a text with commas; empty: there are none. */
  texts(name: string): readonly string[];
  /** `"stream": true`. */
  readonly streams: boolean;
  /** The body with another value for a member that is there. */
  replaced(name: string, value: string): readonly Buffer[];
  /** The body without members of these names. */
  without(names: ReadonlySet<string>): readonly Buffer[];
}

/** @param chunks the whole body, which may be anything. */
export function jsonChoice(chunks: readonly Buffer[]): JsonChoice {
  const object = scanned(chunks);
  const one = (name: string): JsonMember | undefined => {
    const [member, second] = object?.members.filter(({ key }) => key === name) ?? [];
    if (second !== undefined) throw ambiguousMember(name, 'duplicate');
    if (member?.escaped === true) throw ambiguousMember(name, 'escaped');
    const capital = member !== undefined && object?.members.some(({ key }) => isInOtherCase(key, name));
    if (capital === true) throw ambiguousMember(name, 'capital');
    return member;
  };
  const value = (name: string): unknown => {
    const member = one(name);
    return object === undefined || member === undefined ? undefined : valueOf(object, member);
  };
  const changed = (changes: MemberChanges): readonly Buffer[] =>
    object === undefined ? chunks : spliceJson(object, memberEdits(object, changes));
  const stream = object === undefined ? undefined : memberNamed(object, 'stream');
  return {
    text: (name) => {
      const found = value(name);
      return typeof found === 'string' && found !== '' ? found : undefined;
    },
    texts: (name) => {
      const found = value(name);
      if (typeof found === 'string') return listed(found);
      const items: readonly unknown[] = Array.isArray(found) ? found : [];
      return items.filter((item) => typeof item === 'string').filter((item) => item !== '');
    },
    streams: object !== undefined && stream !== undefined && textOf(object, stream) === 'true',
    replaced: (name, text) => {
      const member = one(name);
      return member === undefined ? chunks : changed({ replaced: new Map([[member, JSON.stringify(text)]]) });
    },
    without: (names) => changed({ removed: new Set(object?.members.filter(({ key }) => names.has(key))) }),
  };
}

/** `a, b` as two. */
export function listed(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function scanned(chunks: readonly Buffer[]): JsonObject | undefined {
  const scanner = new JsonObjectScanner();
  try {
    for (const chunk of chunks) scanner.push(chunk);
    return scanner.finish();
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
