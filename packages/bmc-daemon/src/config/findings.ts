/** Checks the values of settings, and collects the faults and warnings. */
import path from 'node:path';
import type { z } from 'zod';
import { describeValue, formatKey } from './python/format.js';
import type { SettingDefinition } from './rows/row.js';

/** A value before its check. */
export interface Candidate {
  readonly value: unknown;
  /**
   * The reason why the source contains no valid value: `must be …`. The message consists of {@link
   * name} and this reason. If it is set, `value` is ignored.
   */
  readonly fault?: string;
  /** Source of the value, for `bmc-daemon check`: `etc/bmc.conf:3`, `--port`. */
  readonly origin: string;
  /** The name as written in the file or the environment, or the long form of the flag. */
  readonly name: string;
  /**
   * Returns the location of the part of the value at `path`: `file:line`, `command line` or
   * `environment`. Each message starts with it.
   */
  place(path: readonly PropertyKey[]): string;
  /** Base folder for relative paths in the value. */
  readonly directory: string;
}

/** The faults and warnings of one configuration: one line each, which begins with the place. */
export class Findings {
  readonly faults: string[] = [];
  readonly warnings: string[] = [];
  readonly unknownNames: string[] = [];

  /** Adds a warning about an unknown name, which `bmc-daemon check --strict` rejects. */
  addUnknownName(warning: string): void {
    this.warnings.push(warning);
    this.unknownNames.push(warning);
  }

  /** Returns the checked value. If the value has faults, records the first one and returns undefined. */
  check(row: SettingDefinition<unknown>, candidate: Candidate): { value: unknown } | undefined {
    if (candidate.fault !== undefined) {
      this.faults.push(`${candidate.place([])}: ${candidate.name} ${candidate.fault}`);
      return undefined;
    }
    const unusable = pathToUnusableKey(candidate.value);
    if (unusable !== undefined) {
      this.faults.push(`${candidate.place(unusable)}: ${candidate.name}: '${UNUSABLE_KEY}' cannot be a key`);
      return undefined;
    }
    const result = row.type.safeParse(this.respelled(row, candidate));
    // sushy-tools reads an empty string as None. An unset shell variable often causes the empty string,
    // which disables HTTPS if the setting is EMULATOR_SSL_CERT. So a warning is necessary.
    if (result.success && candidate.value === '' && result.data === null)
      this.warnings.push(`${candidate.place([])}: ${candidate.name} is empty, which is the same as None`);
    if (result.success)
      return { value: row.path === true ? resolvePaths(result.data, candidate.directory) : result.data };
    const [issue] = result.error.issues;
    if (issue !== undefined)
      this.faults.push(`${candidate.place(issue.path)}: ${describeIssue(row, issue, candidate)}`);
    return undefined;
  }

  /** Returns the value. Keys of its mapping get the spelling of `row.keys`, with a warning for each changed key. */
  private respelled({ keys }: SettingDefinition<unknown>, candidate: Candidate): unknown {
    const { name, value } = candidate;
    if (keys === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]): [string, unknown] => {
        const meant = keys.find((known) => known.toLowerCase() === key.toLowerCase());
        if (meant === undefined || meant === key || Object.hasOwn(value, meant)) return [key, member];
        this.warnings.push(`${candidate.place([key])}: ${name}: ${formatKey(key)} is read as ${formatKey(meant)}`);
        return [meant, member];
      }),
    );
  }
}

/**
 * A key that is a fault in every mapping. As a key of an object, it would change the prototype, so
 * the schemas drop it silently.
 */
const UNUSABLE_KEY = '__proto__';

/** Returns the path in a value to the first {@link UNUSABLE_KEY}, or undefined. */
function pathToUnusableKey(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (key === UNUSABLE_KEY) return [key];
    const innerPath = pathToUnusableKey(member);
    if (innerPath !== undefined) return [key, ...innerPath];
  }
  return undefined;
}

function resolvePaths(value: unknown, directory: string): unknown {
  if (typeof value === 'string') return path.resolve(directory, value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolvePaths(member, directory)]));
}

function describeIssue(row: SettingDefinition<unknown>, issue: z.core.$ZodIssue, candidate: Candidate): string {
  const { name, value } = candidate;
  if (issue.code === 'unrecognized_keys' || issue.code === 'invalid_key') {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [String(issue.path.at(-1))];
    return `${name} has no key ${keys.map(formatKey).join(', ')}; it must be ${row.expected}`;
  }
  const faulty = issue.path.reduce<unknown>((part, step) => (part as Record<PropertyKey, unknown>)[step], value);
  const expected = issue.path.length === 0 ? row.expected : (row.expectedPart ?? row.expected);
  const part = issue.path.map((step) => `[${formatKey(step)}]`).join('');
  return `${name}${part} must be ${expected}, not ${describeValue(faulty)}`;
}
