/** The firmware settings that are kept in a machine's metadata: one element, its attributes in JSON where they hold several values. */
import { z } from 'zod';
import type { KeptValue, SettingsChange, SettingsFailure } from '../../firmware-snapshot.js';
import { attribute, type XmlElement } from './parse.js';

/** Firmware settings that are kept or wait. */
export interface SettingsRecord {
  /** What means nothing to the machine. */
  readonly kept: Readonly<Record<string, KeptValue>>;
  readonly pending: SettingsChange;
  readonly failure: SettingsFailure | null;
  /** What the settings that clients have changed were before: `ResetBios` goes back to it. */
  readonly original: SettingsChange;
  /** Master copy that the machine's UEFI variables were last known to be made of, kept while it boots by BIOS. */
  readonly variables: string | null;
}

/** Of a machine whose settings nobody has touched. */
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

/** What is not as this version writes it reads as never set, as all of the metadata does. */
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

/** The attributes of the element; null: it is left out. */
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

/** Null where there is nothing to keep. */
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
    // Edited by hand, and no JSON any more.
    return null;
  }
}

/** `optional()` allows what exactOptionalPropertyTypes tells apart: a member that is there and undefined. */
function withoutUndefined(change: z.output<typeof changeSchema>): SettingsChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
