/**
 * Reads the members of a JSON body that select the deployment of a raw request. Accepts bodies that
 * are not JSON, because the upstream checks them.
 */
import { ambiguousMember } from '../errors/body.js';
import { JsonError, type JsonMember, type JsonObject } from '../json/object.js';
import { JsonObjectScanner } from '../json/scanner.js';
import { memberEdits, spliceJson, type MemberChanges } from '../json/splice.js';
import { isInOtherCase, memberNamed, spelledText, valueOf } from '../json/text.js';

/** The top-level members of a body. */
interface JsonChoice {
  /**
   * Returns the text of a member; undefined: the member is missing, empty or not a text.
   * @throws {ProxyError} 400: the member occurs twice, also in another case, or its name has escapes.
   */
  text(name: string): string | undefined;
  /**
   * Returns the texts of a member that is a list or a text with commas; empty: none.
   * @throws {ProxyError} 400: as {@link text}.
   */
  texts(name: string): readonly string[];
  /** Whether the body has `"stream": true`. */
  readonly streams: boolean;
  /** Returns the body with another value for a member; unchanged if the member is missing. @throws as {@link text}. */
  replaced(name: string, value: string): readonly Buffer[];
  /** Returns the body without members of the given names. */
  without(names: ReadonlySet<string>): readonly Buffer[];
}

/** Reads a body. @param chunks the whole body, which need not be JSON. */
export function jsonChoice(chunks: readonly Buffer[]): JsonChoice {
  const object = scanned(chunks);
  const onlyMember = (name: string): JsonMember | undefined => {
    const [member, second] = object?.members.filter(({ key }) => key === name) ?? [];
    if (second !== undefined) throw ambiguousMember(name, 'duplicate');
    if (member?.escaped === true) throw ambiguousMember(name, 'escaped');
    const capital = member !== undefined && object?.members.some(({ key }) => isInOtherCase(key, name));
    if (capital === true) throw ambiguousMember(name, 'capital');
    return member;
  };
  const value = (name: string): unknown => {
    const member = onlyMember(name);
    return object === undefined || member === undefined ? undefined : valueOf(object, member);
  };
  const changed = (changes: MemberChanges): readonly Buffer[] =>
    object === undefined ? chunks : spliceJson(object, memberEdits(object, changes));
  const stream = object === undefined ? undefined : memberNamed(object, 'stream');
  return {
    text: (name) => {
      const memberValue = value(name);
      return typeof memberValue === 'string' && memberValue !== '' ? memberValue : undefined;
    },
    texts: (name) => {
      const memberValue = value(name);
      if (typeof memberValue === 'string') return splitList(memberValue);
      const items: readonly unknown[] = Array.isArray(memberValue) ? memberValue : [];
      return items.filter((item) => typeof item === 'string').filter((item) => item !== '');
    },
    streams: object !== undefined && stream !== undefined && spelledText(object, stream) === 'true',
    replaced: (name, text) => {
      const member = onlyMember(name);
      return member === undefined ? chunks : changed({ replaced: new Map([[member, JSON.stringify(text)]]) });
    },
    without: (names) => changed({ removed: new Set(object?.members.filter(({ key }) => names.has(key))) }),
  };
}

/** Splits a text at commas, and removes white space and empty items. */
export function splitList(text: string): readonly string[] {
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
