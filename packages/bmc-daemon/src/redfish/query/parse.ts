/** Parses the query of a URI (DSP0266, query parameters). */
import { RedfishError } from '../messages/errors.js';
import { message, type Message, type MessageArguments, type MessageKey } from '../messages/messages.js';
import { FilterSyntaxError, parseFilter, type Filter } from './filter.js';

/** Maximum `$levels` of `$expand`; the service root shows it. */
export const maximumLevels = 6;

/** `.`: links outside `Links`; `~`: links inside `Links`; `*`: both. */
export type ExpandScope = '.' | '~' | '*';

/** The value of `$expand` (DSP0266, `$expand` query parameter). */
export interface Expand {
  readonly scope: ExpandScope;
  /** 1 to {@link maximumLevels}. */
  readonly levels: number;
}

/**
 * Maps each selected property to the selection inside it. An empty map selects the whole property.
 */
export type Selection = ReadonlyMap<string, Selection>;

/** A parsed query; absent members were not sent. */
export interface Query {
  /** Whether to answer with the member instead of its collection if the collection has exactly one. */
  readonly only: boolean;
  readonly filter?: Filter;
  readonly skip?: number;
  readonly top?: number;
  readonly expand?: Expand;
  readonly select?: Selection;
  /** The protocol's parameters as the client sent them, for the link to the next page. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

const supported = ['$expand', '$filter', '$select', '$skip', '$top', 'only'];

/**
 * Parses a query. A parameter that begins with `$` belongs to the protocol. An unsupported
 * parameter of the protocol is an error: the client could mistake the whole resource for the part
 * that it requested. Ignores all other parameters except `only`.
 * @param query without its `?`.
 * @param own parameters that the resource reads itself.
 * @returns undefined if the query has no parameter that this function parses.
 * @throws {RedfishError} 501 with a QueryParameterUnsupported for each unsupported parameter; if
 *   there is none, 400 with all faults.
 */
export function parseQuery(query: string, own: readonly string[] = []): Query | undefined {
  const sent = [...new URLSearchParams(query)];
  const unsupported = new Set(
    sent
      .map(([name]) => name)
      .filter((name) => name.startsWith('$') && !supported.includes(name) && !own.includes(name)),
  );
  if (unsupported.size > 0) {
    throw new RedfishError(
      501,
      [...unsupported].map((name) => message('QueryParameterUnsupported', name)),
    );
  }
  const parameters = sent.filter(([name]) => supported.includes(name) && !own.includes(name));
  if (parameters.length === 0) return undefined;
  const names = parameters.map(([name]) => name);
  const faults: Message[] = [];
  // A repeated parameter, or `only` with another parameter, has no clear meaning.
  const hasRepeatedName = new Set(names).size < names.length;
  if (hasRepeatedName || (names.includes('only') && names.length > 1)) faults.push(message('QueryCombinationInvalid'));

  const readParameter = <Value>(name: string, parse: (text: string) => Value): Value | undefined => {
    const text = parameters.find(([candidate]) => candidate === name)?.[1];
    if (text === undefined) return undefined;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof QueryFault)) throw error;
      faults.push(error.fault);
      return undefined;
    }
  };
  const values = {
    filter: readParameter('$filter', readFilter),
    skip: readParameter('$skip', (text) => readCount('$skip', text)),
    top: readParameter('$top', (text) => readCount('$top', text)),
    expand: readParameter('$expand', readExpand),
    select: readParameter('$select', readSelect),
  };
  const only = readParameter('only', readOnly) ?? false;
  if (faults.length > 0) throw new RedfishError(400, faults);
  // Absent parameters have no key.
  const sentValues = Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<Query>;
  return { ...sentValues, only, parameters };
}

/** The fault of one parameter. */
class QueryFault extends Error {
  readonly fault: Message;

  constructor(fault: Message) {
    super('a query parameter is wrong');
    this.fault = fault;
  }
}

function fault<Key extends MessageKey>(key: Key, ...args: MessageArguments<Key>): QueryFault {
  return new QueryFault(message(key, ...args));
}

function readOnly(text: string): true {
  if (text !== '') throw fault('QueryParameterValueError', 'only');
  return true;
}

/** Maximum of `$skip` and `$top`. */
const maxCount = 2 ** 31 - 1;

function readCount(name: string, text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw fault('QueryParameterValueTypeError', text, name);
  const count = Number(text);
  if (count < 0 || count > maxCount) throw fault('QueryParameterOutOfRange', text, name, `0 to ${maxCount}`);
  return count;
}

function readExpand(text: string): Expand {
  const match = /^([.~*])(?:\(\$levels=([^()]*)\))?$/.exec(text);
  if (match === null) throw fault('QueryParameterValueFormatError', text, '$expand');
  const [, scope, levelsText = '1'] = match;
  if (!/^[+-]?\d+$/.test(levelsText)) throw fault('QueryParameterValueTypeError', levelsText, '$levels');
  const levels = Number(levelsText);
  if (levels < 1 || levels > maximumLevels) {
    throw fault('QueryParameterOutOfRange', levelsText, '$levels', `1 to ${maximumLevels}`);
  }
  return { scope: scope as ExpandScope, levels }; // The pattern allows only these three values.
}

/** Maximum number of names in a path of `$select`. No schema is deeper. */
const maxPathLength = 16;

/** A {@link Selection} during parsing. */
type Selecting = Map<string, Selecting>;

function readSelect(text: string): Selection {
  const selection: Selecting = new Map();
  for (const path of text.split(',').map((part) => part.trim())) {
    const names = path.split('/');
    if (names.length > maxPathLength || !names.every((name) => /^([\w@#.-]+|\*)$/.test(name))) {
      throw fault('QueryParameterValueFormatError', text, '$select');
    }
    select(selection, names);
  }
  return selection;
}

/** Adds a path. If a path selects a whole property, the paths of its parts have no effect. */
function select(selection: Selecting, [name = '', ...rest]: readonly string[]): void {
  const previous = selection.get(name);
  if (previous?.size === 0) return;
  if (rest.length === 0) {
    selection.set(name, new Map());
    return;
  }
  // Change the map in place, because a copy for each path would take quadratic time.
  const inner = previous ?? new Map<string, Selecting>();
  select(inner, rest);
  selection.set(name, inner);
}

function readFilter(text: string): Filter {
  try {
    return parseFilter(text);
  } catch (error) {
    if (error instanceof FilterSyntaxError) throw fault('QueryParameterValueFormatError', text, '$filter');
    throw error;
  }
}
