/** Reads the fields of a cloud's entry, and collects their faults. */
import { describeNode, type YamlMapping, type YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import { placeOf } from './cloud-entry.js';

/** Names of fields whose value is a secret. Messages never show these values. */
const secretField = /password|secret|token|key$/;

/**
 * Reads fields by their path, such as `auth.password` or `region_name`. `text`, `required`,
 * `boolean` and `oneOf` return undefined for an absent field, and for a field with a fault.
 */
export interface EntryReader {
  readonly faults: readonly string[];
  /** Returns whether the entry has the field. An empty field is absent. */
  has(field: string): boolean;
  /**
   * Returns a text. Accepts a decimal number as text, because a name may consist of digits. Any other
   * number is a fault, because YAML changes it.
   */
  text(field: string): string | undefined;
  /** Returns a text. An absent field is a fault. */
  required(field: string): string | undefined;
  boolean(field: string): boolean | undefined;
  oneOf<const T extends string>(field: string, values: readonly T[]): T | undefined;
  /**
   * Returns the names in a list; empty if the field is absent or has a fault. A member is a name, or
   * a mapping with `name`. Ignores other members.
   */
  names(field: string): readonly string[];
  /**
   * Returns the place and the name of a field. If the entry lacks the field, returns the place of `auth` or of
   * the entry.
   */
  place(field: string): string;
  /** Records a fault of a field. */
  fault(field: string, sentence: string): void;
}

/** A number that Python prints as it is written. YAML reads `0777` as 511, `1_000` as 1000 and `1:30` as 90. */
const decimal = /^(0|-?[1-9]\d*)(\.(0|\d*[1-9]))?$/;

const booleans: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  '1': true,
  false: false,
  no: false,
  '0': false,
};

/** Creates the reader of an entry. */
export function createEntryReader(entry: YamlMapping): EntryReader {
  const faults: string[] = [];
  const nodeOf = (field: string): YamlNode | undefined => {
    let node: YamlNode | undefined = entry;
    for (const step of field.split('.')) node = node?.kind === 'mapping' ? node.members.get(step) : undefined;
    return node?.kind === 'scalar' && (node.value === null || node.value === '') ? undefined : node;
  };
  const place = (field: string): string => `${placeOf(nodeOf(field) ?? parentOf(field))}: ${field}`;
  const parentOf = (field: string): YamlNode => (field.includes('.') ? entry.members.get('auth') : undefined) ?? entry;
  const fault = (field: string, sentence: string): void => void faults.push(`${place(field)} ${sentence}`);
  const wrongKind = (field: string, expected: string, node: YamlNode): void =>
    fault(field, `must be ${expected}, not ${describeNode(node, { secret: secretField.test(field) })}`);

  const text = (field: string): string | undefined => {
    const node = nodeOf(field);
    if (node === undefined) return undefined;
    if (node.kind !== 'scalar' || typeof node.value === 'boolean') {
      wrongKind(field, 'a text', node);
      return undefined;
    }
    const written = node.source ?? String(node.value);
    if (typeof node.value !== 'number' || decimal.test(written)) return written;
    fault(field, 'is a number that YAML changes: put it in quotes');
    return undefined;
  };
  return {
    faults,
    place,
    fault,
    has: (field) => nodeOf(field) !== undefined,
    text,
    required: (field) => {
      if (nodeOf(field) === undefined) fault(field, 'is missing');
      return text(field);
    },
    boolean: (field) => {
      const node = nodeOf(field);
      if (node === undefined) return undefined;
      const value = node.kind === 'scalar' ? booleans[String(node.value).toLowerCase()] : undefined;
      if (value === undefined) wrongKind(field, 'true or false', node);
      return value;
    },
    oneOf: (field, values) => {
      const value = text(field);
      const known = values.find((candidate) => candidate === value);
      if (value !== undefined && known === undefined) fault(field, `must be one of ${values.join(', ')}`);
      return known;
    },
    names: (field) => {
      const node = nodeOf(field);
      if (node === undefined) return [];
      if (node.kind !== 'sequence') {
        wrongKind(field, 'a list', node);
        return [];
      }
      return node.items.flatMap((item) => {
        const named = item.kind === 'mapping' ? item.members.get('name') : item;
        return named?.kind === 'scalar' && named.value !== null ? [String(named.value)] : [];
      });
    },
  };
}
