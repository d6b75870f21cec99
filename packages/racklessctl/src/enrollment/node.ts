/** Machines for enrollment files, with unique names, and the type of a file format. */
import type { MachineFacts } from '../machines/facts.js';
import type { MachineSummary } from '../machines/machine.js';

/** A machine to enroll. It has no password, because no enrollment file contains one. */
export interface EnrollmentNode {
  /** Unique: lower-case letters, digits and hyphens, at most 63 characters (RFC 1123). */
  readonly name: string;
  readonly facts: MachineFacts;
  readonly user: string | undefined;
  /** Path of the file with the trusted CA certificates. */
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly auth: 'session' | 'basic';
  /**
   * Whether another machine of the service has the same name. `unknown`: a machine of the service could not be read,
   * and may have it.
   */
  readonly sharesName: boolean | 'unknown';
}

/** A format of an enrollment file. */
export interface EnrollmentFormat {
  /** Describes the file for the help, with the program that reads it. */
  readonly summary: string;
  /**
   * Returns why the file cannot contain a machine; undefined: it can. A comment of the file shows the text, so it must
   * not contain texts of a service.
   */
  readonly rejects?: (node: EnrollmentNode) => string | undefined;
  /** Returns warnings about the file, for example that a program cannot use some of its values. */
  readonly warnings?: (nodes: readonly EnrollmentNode[]) => readonly string[];
  /**
   * Returns the text of the file.
   * @param notes lines for the comment at the beginning of the file.
   */
  readonly render: (nodes: readonly EnrollmentNode[], notes: readonly string[]) => string;
}

const MAX_NAME = 63;

const dnsLabel = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, MAX_NAME)
    .replace(/-+$/, '');

/**
 * Returns a unique name for each machine: the first of name, host name, context, name with chassis, serial
 * number, id and UUID that no other machine has. If there is none: the name, or `machine` if the name has no letter
 * or digit of ASCII, with a number from the second machine on, such as `system-2`. BMCs of real servers often call
 * their machine `System`.
 */
export function enrollmentNames(machines: readonly MachineSummary[]): readonly string[] {
  const candidates = (facts: MachineSummary): readonly (string | undefined)[] => [
    facts.name,
    facts.hostName,
    facts.context,
    facts.chassis.length === 0 ? undefined : [facts.name, ...facts.chassis].join('-'),
    facts.serial,
    facts.id,
    facts.uuid,
  ];
  const machinesWithName = new Map<string, number>();
  for (const facts of machines)
    for (const name of new Set(candidates(facts).map((text) => dnsLabel(text ?? ''))))
      machinesWithName.set(name, (machinesWithName.get(name) ?? 0) + 1);
  const taken = new Set<string>();
  return machines.map((facts) => {
    const names = candidates(facts).map((text) => dnsLabel(text ?? ''));
    const found = names.find((name) => name !== '' && machinesWithName.get(name) === 1 && !taken.has(name));
    const base = found ?? (dnsLabel(facts.name) || 'machine');
    let name = base;
    for (let number = 2; taken.has(name); number += 1) name = `${base.slice(0, MAX_NAME - 8)}-${number}`;
    taken.add(name);
    return name;
  });
}

/** Returns an object without its undefined members. */
export function withoutUndefined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/**
 * Returns the lines as comments of YAML and of a shell. The lines must not contain unchecked text from a
 * service: a line feed would end the comment.
 */
export const comment = (lines: readonly string[]): string => lines.map((line) => `# ${line}`.trimEnd() + '\n').join('');
