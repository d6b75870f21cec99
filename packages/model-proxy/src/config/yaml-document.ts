/**
 * Reads a YAML file as PyYAML does, which LiteLLM reads its configuration with (YAML 1.1: `yes` and `off` are booleans, `010` is 8, `<<`
 * merges), and keeps the line of each value. Dates stay texts: no setting is one, and `api_version: 2024-06-01` is common.
 */
import {
  boolYaml11Tag,
  COLLECTION_STYLE,
  constructFromEvents,
  defineScalarTag,
  EVENT_ID,
  NOT_RESOLVED,
  Schema,
  YAML11_SCHEMA,
  YAMLException,
  type AliasEvent,
  type Event,
  type MappingEvent,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';
import { readEvents } from './yaml-indentation.js';
import type { YamlMapping, YamlNode } from './yaml-node.js';

/** What is wrong with a file's text; the message has no place in it. */
export interface YamlFault {
  /** From 1; undefined: the file as a whole. */
  readonly line?: number;
  readonly message: string;
}

export interface YamlDocument {
  /** The mapping at the top; undefined: there are faults. */
  readonly root?: YamlMapping;
  readonly faults: readonly YamlFault[];
}

/** Types that no setting has. Their tags are unknown then, as PyYAML's safe loader has it for everything that is not plain data. */
const UNWANTED_TAGS = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
);

/** YAML 1.1 has `y` and `n` among the booleans, PyYAML has not: a model may be called so. */
const booleanTag = defineScalarTag(boolYaml11Tag.tagName, {
  ...boolYaml11Tag,
  resolve: (source, isExplicit, tagName) =>
    /^[yn]$/i.test(source) ? NOT_RESOLVED : boolYaml11Tag.resolve(source, isExplicit, tagName),
});

const schema = new Schema(YAML11_SCHEMA.tags.filter(({ tagName }) => !UNWANTED_TAGS.has(tagName))).withTags(booleanTag);

/** Aliases of aliases of aliases make a small text a value that fills the memory. */
const MAX_VALUES = 200_000;

/** Reads one document whose top is a mapping. @param file as it is to be named in messages. */
export function parseYaml(given: string, file: string): YamlDocument {
  const fail = (message: string, line?: number): YamlDocument => ({
    faults: [line === undefined ? { message } : { line, message }],
  });
  try {
    const { text, events } = readEvents(given, file);
    const documents = events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length;
    if (documents > 1) return fail('there is more than one YAML document (---) in the file', secondDocument(text));
    const reader = new Reader(text, file, events);
    const root = reader.read();
    if (root === undefined || (root.kind === 'scalar' && root.value === null)) return fail('the file is empty');
    if (root.kind !== 'mapping') {
      const found = root.kind === 'sequence' ? 'a list' : 'a single value';
      return fail(`the file must be a mapping with model_list in it, not ${found}`, root.line);
    }
    return reader.faults.length > 0 ? { faults: reader.faults } : { root, faults: [] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    return fail(`this is no YAML: ${error.reason}`, error.mark === undefined ? undefined : error.mark.line + 1);
  }
}

/** The line of the second `---`, or of the only one where a document stands before it. */
function secondDocument(text: string): number | undefined {
  const lines = text.split(/\r\n|\r|\n/);
  const isContent = (line: string) => !/^(\s*(#.*)?|%.*)$/.test(line);
  const first = lines.findIndex(isContent);
  const next = lines.findIndex((line, index) => index > first && /^---(\s|$)/.test(line));
  return next === -1 ? undefined : next + 1;
}

/**
 * The values of all scalars of a document as one list: js-yaml makes a document's value without the places of its parts, so that the
 * document is put together here, and what it does for each call is not worth doing for each scalar.
 */
function scalarValues(text: string, file: string, events: readonly Event[]): readonly unknown[] {
  const end = { type: EVENT_ID.POP };
  const none = -1;
  const list: Event[] = [
    { type: EVENT_ID.DOCUMENT, explicitStart: false, explicitEnd: false, directives: [] },
    {
      type: EVENT_ID.SEQUENCE,
      start: 0,
      anchorStart: none,
      anchorEnd: none,
      tagStart: none,
      tagEnd: none,
      style: COLLECTION_STYLE.FLOW,
    },
    ...events.filter(({ type }) => type === EVENT_ID.SCALAR),
    end,
    end,
  ];
  const [values] = constructFromEvents(list, { source: text, schema, filename: file });
  return Array.isArray(values) ? values : [];
}

/** A value and how many values it is made of, aliases counted each time. */
interface Sized {
  readonly node: YamlNode;
  readonly size: number;
}

class Reader {
  readonly faults: YamlFault[] = [];
  readonly #text: string;
  readonly #file: string;
  readonly #events: readonly Event[];
  readonly #anchors = new Map<string, Sized>();
  readonly #lineStarts: readonly number[];
  /** Of all scalars, in their order. */
  readonly #scalars: readonly unknown[];
  #next = 0;
  #nextScalar = 0;
  /** Where an empty value stands, which has no position of its own. */
  #lastLine = 1;

  constructor(text: string, file: string, events: readonly Event[]) {
    this.#text = text;
    this.#file = file;
    this.#events = events;
    this.#scalars = scalarValues(text, file, events);
    this.#lineStarts = [0, ...[...text.matchAll(/\r\n|\r|\n/g)].map((match) => match.index + match[0].length)];
  }

  /** The only document's content; undefined: there is none. */
  read(): YamlNode | undefined {
    if (this.#events.length === 0) return undefined;
    this.#next = 1; // the document's own event is first
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
        // A document without content ends where its value would be.
        return { node: { kind: 'scalar', file: this.#file, line: this.#lastLine, value: null }, size: 1 };
    }
  }

  #anchored(event: { readonly anchorStart: number; readonly anchorEnd: number }, sized: Sized): Sized {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), sized);
    if (sized.size > MAX_VALUES)
      throw new YAMLException(`its aliases make more than ${MAX_VALUES} values of it`, undefined);
    return sized;
  }

  #alias({ anchorStart, anchorEnd }: AliasEvent): Sized {
    const name = this.#text.slice(anchorStart, anchorEnd);
    const target = this.#anchors.get(name);
    const line = this.#line(anchorStart);
    // Anchors are known when their value is complete, so one within its own value is not.
    if (target === undefined)
      YAMLException.throwAt(this.#text, anchorStart, `there is no anchor &${name} before *${name}`, this.#file);
    return { node: { ...target.node, line }, size: target.size };
  }

  #scalar(event: ScalarEvent): Sized {
    const line = this.#line(event.valueStart);
    const value = this.#scalars[this.#nextScalar];
    this.#nextScalar += 1;
    const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
    return { node: { kind: 'scalar', file: this.#file, line, value: plain }, size: 1 };
  }

  /** A tag that says what is plain to see is fine; one of another program is not ours to understand. */
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
    while (!this.#ended()) {
      const item = this.#value();
      items.push(item.node);
      size += item.size;
    }
    return { node: { kind: 'sequence', file: this.#file, line, items }, size };
  }

  #mapping(event: MappingEvent): Sized {
    const line = this.#line(event.start);
    this.#checkTag(event, line, '!!map');
    const members = new Map<string, YamlNode>();
    const merged: YamlNode[] = [];
    let size = 1;
    while (!this.#ended()) {
      const keyEvent = this.#events[this.#next];
      const { node: key } = this.#value();
      const value = this.#value();
      size += value.size;
      if (key.kind !== 'scalar') {
        this.faults.push({ line: key.line, message: 'a key must be a word, not a list or a mapping' });
      } else if (this.#isMerge(keyEvent)) {
        merged.push(value.node);
      } else {
        const name = String(key.value);
        const earlier = members.get(name);
        if (earlier !== undefined)
          this.faults.push({
            line: key.line,
            message: `${name} stands twice in the same mapping, the first time on line ${earlier.line}`,
          });
        members.set(name, { ...value.node, line: key.line });
      }
    }
    for (const source of merged) this.#merge(members, source);
    return { node: { kind: 'mapping', file: this.#file, line, members }, size };
  }

  #isMerge(event: Event | undefined): boolean {
    // Quoted, it is a key like any other.
    return (
      event?.type === EVENT_ID.SCALAR &&
      this.#text.slice(event.valueStart, event.valueEnd) === '<<' &&
      event.style === 1
    );
  }

  /** What stands in the mapping itself wins over what is merged into it, and an earlier mapping over a later one. */
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

  #ended(): boolean {
    if (this.#events[this.#next]?.type !== EVENT_ID.POP) return false;
    this.#next += 1;
    return true;
  }
}
