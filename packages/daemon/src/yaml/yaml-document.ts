/**
 * Parses a YAML file as PyYAML does, because LiteLLM and OpenStack's clients use PyYAML (YAML 1.1:
 * `yes` and `off` are booleans, `010` is 8, `<<` merges). Records the line of each value. Unlike
 * PyYAML, rejects a mapping in which a key occurs twice. Dates stay strings: no setting is a date,
 * and values such as `api_version: 2024-06-01` are common.
 */
import {
  EVENT_ID,
  YAMLException,
  type AliasEvent,
  type Event,
  type MappingEvent,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';
import { readEvents } from './tolerant-yaml.js';
import type { YamlMapping, YamlNode } from './yaml-node.js';
import { scalarValues } from './yaml-scalars.js';

/** A fault of a file's text. The message does not contain the place. */
export interface YamlFault {
  /** Line number from 1; undefined for the file as a whole. */
  readonly line?: number;
  readonly message: string;
}

/** The result of parsing a file. */
export interface YamlDocument {
  /** The mapping at the top; undefined if there are faults. */
  readonly root?: YamlMapping;
  readonly faults: readonly YamlFault[];
  /** True if the only fault is that the file is empty: it contains nothing, only comments, or only `null`. */
  readonly isEmpty?: true;
}

/**
 * Maximum number of values. Each use of an alias counts all values of its anchor again. Without this
 * limit, aliases of aliases in a small text could fill the memory, and their merges could block the
 * process for minutes.
 */
const MAX_VALUES = 200_000;
/** A value has three events at most: its key, and the beginning and the end of a collection. */
const MAX_EVENTS = 3 * MAX_VALUES + 2;

/** Options of {@link parseYaml}. */
interface ParseOptions {
  /** Whether the node of a number also has its text from the file. Default: false. */
  readonly keepsNumberText?: boolean;
}

/** Parses a file with one document that is a mapping. @param file name for messages. */
export function parseYaml(source: string, file: string, { keepsNumberText = false }: ParseOptions = {}): YamlDocument {
  const fail = (message: string, line?: number): YamlDocument => ({
    faults: [line === undefined ? { message } : { line, message }],
  });
  try {
    const { text, events } = readEvents(source, file);
    if (events.length > MAX_EVENTS) throw tooManyValues();
    const documents = events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length;
    if (documents > 1) return fail('there is more than one YAML document (---) in the file', secondDocument(text));
    const reader = new Reader(text, file, { events, keepsNumberText });
    const root = reader.read();
    if (root === undefined || (root.kind === 'scalar' && root.value === null)) {
      return { ...fail('the file is empty'), isEmpty: true };
    }
    if (root.kind !== 'mapping') {
      const rootKind = root.kind === 'sequence' ? 'a list' : 'a single value';
      return fail(`the file must be a mapping, not ${rootKind}`, root.line);
    }
    return reader.faults.length > 0 ? { faults: reader.faults } : { root, faults: [] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return fail(`this is not valid YAML: ${error.reason}`, error.mark === undefined ? undefined : error.mark.line + 1);
  }
}

/** Returns the line of the `---` that begins the second document; undefined if there is none. */
function secondDocument(text: string): number | undefined {
  const lines = text.split(/\r\n|\r|\n/);
  const isContent = (line: string) => !/^(\s*(#.*)?|%.*)$/.test(line);
  const first = lines.findIndex(isContent);
  const secondStart = lines.findIndex((line, index) => index > first && /^---(\s|$)/.test(line));
  return secondStart === -1 ? undefined : secondStart + 1;
}

const tooManyValues = () => new YAMLException(`it has more than ${MAX_VALUES} values, including the values of aliases`);

/**
 * Returns the size of a collection after the addition of a value.
 * @throws {YAMLException} if the sum is larger than `MAX_VALUES`.
 */
function checkedSum(size: number, added: number): number {
  if (size + added > MAX_VALUES) throw tooManyValues();
  return size + added;
}

/** A node and the number of values in it. Each use of an alias counts. */
interface Sized {
  readonly node: YamlNode;
  readonly size: number;
}

class Reader {
  readonly faults: YamlFault[] = [];
  readonly #text: string;
  readonly #file: string;
  readonly #keepsNumberText: boolean;
  readonly #events: readonly Event[];
  readonly #anchors = new Map<string, Sized>();
  readonly #lineStarts: readonly number[];
  /** The values of all scalars, in their order. */
  readonly #scalars: readonly unknown[];
  #next = 0;
  #nextScalar = 0;
  /** Line of the last event, for an empty value, which has no position. */
  #lastLine = 1;

  constructor(
    text: string,
    file: string,
    { events, keepsNumberText }: { readonly events: readonly Event[]; readonly keepsNumberText: boolean },
  ) {
    this.#text = text;
    this.#file = file;
    this.#keepsNumberText = keepsNumberText;
    this.#events = events;
    this.#scalars = scalarValues(text, file, events);
    this.#lineStarts = [0, ...[...text.matchAll(/\r\n|\r|\n/g)].map((match) => match.index + match[0].length)];
  }

  /** Reads the content of the document; undefined if it is empty. */
  read(): YamlNode | undefined {
    if (this.#events.length === 0) return undefined;
    this.#next = 1; // the first event is the document
    return this.#value().node;
  }

  #line(position: number): number {
    if (position < 0) return this.#lastLine;
    let low = 0;
    let high = this.#lineStarts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= position) low = middle;
      else high = middle;
    }
    this.#lastLine = low + 1;
    return this.#lastLine;
  }

  #value(): Sized {
    const event = this.#events[this.#next];
    this.#next += 1;
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return this.#anchored(event, this.#scalar(event));
      case EVENT_ID.SEQUENCE:
        return this.#anchored(event, this.#sequence(event));
      case EVENT_ID.MAPPING:
        return this.#anchored(event, this.#mapping(event));
      case EVENT_ID.ALIAS:
        return this.#alias(event);
      default:
        // The document is empty: its end comes instead of a value.
        return { node: { kind: 'scalar', file: this.#file, line: this.#lastLine, value: null }, size: 1 };
    }
  }

  #anchored(event: { readonly anchorStart: number; readonly anchorEnd: number }, sized: Sized): Sized {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), sized);
    return sized;
  }

  #alias({ anchorStart, anchorEnd }: AliasEvent): Sized {
    const name = this.#text.slice(anchorStart, anchorEnd);
    const target = this.#anchors.get(name);
    const line = this.#line(anchorStart);
    // An anchor is known when its value is complete. An alias inside its own value is therefore an
    // error.
    if (target === undefined)
      YAMLException.throwAt(this.#text, anchorStart, `there is no anchor &${name} before *${name}`, this.#file);
    return { node: { ...target.node, line }, size: target.size };
  }

  #scalar(event: ScalarEvent): Sized {
    const line = this.#line(event.valueStart);
    const value = this.#scalars[this.#nextScalar];
    this.#nextScalar += 1;
    const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
    const source =
      this.#keepsNumberText && typeof plain === 'number'
        ? { source: this.#text.slice(event.valueStart, event.valueEnd) }
        : {};
    return { node: { kind: 'scalar', file: this.#file, line, value: plain, ...source }, size: 1 };
  }

  /**
   * Accepts a tag that names the actual type. Other tags belong to other programs and are a fault.
   */
  #checkTag({ tagStart, tagEnd }: SequenceEvent | MappingEvent, line: number, expected: string): void {
    const tag = tagStart < 0 ? '' : this.#text.slice(tagStart, tagEnd);
    if (tag !== '' && tag !== '!' && tag !== expected)
      this.faults.push({ line, message: `the tag ${tag} is not known` });
  }

  #sequence(event: SequenceEvent): Sized {
    const line = this.#line(event.start);
    this.#checkTag(event, line, '!!seq');
    const items: YamlNode[] = [];
    let size = 1;
    while (!this.#takeEnd()) {
      const item = this.#value();
      items.push(item.node);
      size = checkedSum(size, item.size);
    }
    return { node: { kind: 'sequence', file: this.#file, line, items }, size };
  }

  #mapping(event: MappingEvent): Sized {
    const line = this.#line(event.start);
    this.#checkTag(event, line, '!!map');
    const members = new Map<string, YamlNode>();
    const merged: YamlNode[] = [];
    let size = 1;
    while (!this.#takeEnd()) {
      const keyEvent = this.#events[this.#next];
      const { node: key } = this.#value();
      const value = this.#value();
      size = checkedSum(size, value.size);
      if (key.kind !== 'scalar') {
        this.faults.push({ line: key.line, message: 'a key must be a single value, not a list or a mapping' });
      } else if (this.#isMerge(keyEvent)) {
        merged.push(value.node);
      } else {
        const name = String(key.value);
        const earlier = members.get(name);
        if (earlier !== undefined)
          this.faults.push({
            line: key.line,
            message: `${name} occurs twice in the same mapping, first on line ${earlier.line}`,
          });
        members.set(name, { ...value.node, line: key.line });
      }
    }
    for (const source of merged) this.#merge(members, source);
    return { node: { kind: 'mapping', file: this.#file, line, members }, size };
  }

  #isMerge(event: Event | undefined): boolean {
    // A quoted `<<` is an ordinary key.
    return (
      event?.type === EVENT_ID.SCALAR &&
      this.#text.slice(event.valueStart, event.valueEnd) === '<<' &&
      event.style === 1
    );
  }

  /**
   * Merges a mapping into another. Existing members are not replaced, so earlier mappings override
   * later ones.
   */
  #merge(members: Map<string, YamlNode>, source: YamlNode): void {
    if (source.kind === 'sequence') {
      for (const item of source.items) this.#merge(members, item);
      return;
    }
    if (source.kind !== 'mapping') {
      this.faults.push({ line: source.line, message: '<< needs a mapping, or a list of them' });
      return;
    }
    for (const [key, value] of source.members) if (!members.has(key)) members.set(key, value);
  }

  /** Moves past the end of the current collection. @returns false if another value comes first. */
  #takeEnd(): boolean {
    if (this.#events[this.#next]?.type !== EVENT_ID.POP) return false;
    this.#next += 1;
    return true;
  }
}
