/** The fields of the form for a key, and the settings that they mean. */
import type { Key, KeySettings } from '../../api/keys.js';

/** The values of the fields. Numbers are texts; empty: no limit. */
export interface KeyFields {
  readonly alias: string;
  readonly models: readonly string[];
  readonly rpm: string;
  readonly tpm: string;
  readonly parallel: string;
  readonly budget: string;
  readonly period: string;
  /** `keep`: the expiry of an existing key stays. */
  readonly expires: string;
  /** Only for a new key. */
  readonly type: string;
  readonly team: string;
}

/** Returns the fields of a key; null: the fields of a new key. */
export function fieldsOf(key: Key | null): KeyFields {
  const text = (value: number | null | undefined): string => String(value ?? '');
  return {
    alias: key?.key_alias ?? '',
    models: key?.models ?? [],
    rpm: text(key?.rpm_limit),
    tpm: text(key?.tpm_limit),
    parallel: text(key?.max_parallel_requests),
    budget: text(key?.max_budget),
    period: key?.budget_duration ?? '',
    expires: key === null ? '' : 'keep',
    type: 'default',
    team: key?.team_id ?? '',
  };
}

/** Returns only the settings that the user has changed: in an existing key, or from the defaults of a new key. */
export function settingsOf(fields: KeyFields, key: Key | null): KeySettings {
  const before = fieldsOf(key);
  const number = (value: string): number | null => (value.trim() === '' ? null : Number(value));
  const text = (value: string): string | null => (value.trim() === '' ? null : value.trim());
  const all = [
    ['alias', 'key_alias', text(fields.alias)],
    ['models', 'models', fields.models],
    ['rpm', 'rpm_limit', number(fields.rpm)],
    ['tpm', 'tpm_limit', number(fields.tpm)],
    ['parallel', 'max_parallel_requests', number(fields.parallel)],
    ['budget', 'max_budget', number(fields.budget)],
    ['period', 'budget_duration', text(fields.period)],
    ['expires', 'duration', text(fields.expires)],
    ['type', 'key_type', fields.type],
    ['team', 'team_id', text(fields.team)],
  ] as const;
  return Object.fromEntries(
    all.filter(([field]) => String(fields[field]) !== String(before[field])).map(([, name, value]) => [name, value]),
  );
}
