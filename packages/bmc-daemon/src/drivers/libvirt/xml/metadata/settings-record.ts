/** Firmware settings in a machine's metadata: one element, with JSON in some attributes. */
import { z } from 'zod';
import type { KeptValue, SettingsChange, SettingsFailure } from '../../../snapshot/firmware-snapshot.js';
import { attribute, type XmlElement } from '../parse.js';

/** Firmware settings that are stored or pending. */
export interface SettingsRecord {
  /** Values without an effect on the machine. */
  readonly kept: Readonly<Record<string, KeptValue>>;
  readonly pending: SettingsChange;
  readonly failure: SettingsFailure | null;
  /** Values before the first change by a client: `ResetBios` restores them. */
  readonly original: SettingsChange;
  /** The last known template of the machine's UEFI variables, stored while it boots by BIOS. */
  readonly variables: string | null;
}

/** The record of a machine whose settings no client has changed. */
export const noSettings: SettingsRecord = { kept: {}, pending: {}, failure: null, original: {}, variables: null };

const keptSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const changeSchema = z.strictObject({
  cpuCount: z.int().optional(),
  memoryMiB: z.int().optional(),
  firmware: z.enum(['bios', 'efi']).optional(),
  secureBoot: z.boolean().optional(),
  networkBoot: z.boolean().optional(),
  kept: keptSchema.optional(),
});

/** Reads the record. A value with an unknown format reads as never set. */
export function readSettingsRecord(element: XmlElement): SettingsRecord {
  const [reason, time] = [attribute(element, 'failure'), attribute(element, 'failedAt')];
  return {
    kept: readJson(element, 'kept', keptSchema) ?? {},
    pending: withoutUndefined(readJson(element, 'pending', changeSchema) ?? {}),
    failure: reason === null || time === null ? null : { reason, time },
    original: withoutUndefined(readJson(element, 'original', changeSchema) ?? {}),
    variables: attribute(element, 'variables'),
  };
}

/** Returns the attributes of the element; null: omitted. */
export function renderSettingsRecord(record: SettingsRecord): Readonly<Record<string, string | null>> {
  const { kept, pending, failure, original, variables } = record;
  const json = (value: object): string | null => (Object.keys(value).length === 0 ? null : JSON.stringify(value));
  return {
    kept: json(kept),
    pending: json(pending),
    original: json(original),
    variables,
    failure: failure?.reason ?? null,
    failedAt: failure?.time ?? null,
  };
}

/** Returns the record, or null if it is empty. */
export function settingsOrNull(record: SettingsRecord): SettingsRecord | null {
  return Object.values(renderSettingsRecord(record)).every((value) => value === null) ? null : record;
}

function readJson<T>(element: XmlElement, name: string, schema: z.ZodType<T>): T | null {
  const text = attribute(element, name);
  if (text === null) return null;
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    // Edited by hand and not valid JSON.
    return null;
  }
}

/**
 * Removes members with the value undefined, which `optional()` allows and
 * exactOptionalPropertyTypes does not.
 */
function withoutUndefined(change: z.output<typeof changeSchema>): SettingsChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
