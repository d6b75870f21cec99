/**
 * Stores the report definitions that clients have changed: whether and how often a report is made.
 */
import { z } from 'zod';
import type { Awaitable } from '../redfish/resource.js';
import type { StateFile } from '../state-file.js';

/**
 * `periodic`: the report is made at its interval, while a client subscribes to it or reads it.
 * `onRequest`: it is made when a client reads it.
 */
type ReportType = 'periodic' | 'onRequest';

/** The definition of one machine's report. */
export interface ReportDefinition {
  readonly enabled: boolean;
  readonly type: ReportType;
  readonly intervalSeconds: number;
}

/** A change; absent members stay unchanged. */
export type DefinitionChange = Partial<ReportDefinition>;

/** The form of a stored change. */
export const definitionChange = z.object({
  enabled: z.boolean().optional(),
  type: z.enum(['periodic', 'onRequest']).optional(),
  intervalSeconds: z.number().positive().optional(),
});

/** The schema of the state file: the differences from the default, by UUID. */
export const telemetryState = z.object({
  enabled: z.boolean(),
  definitions: z.record(z.string(), definitionChange),
});
/** The contents of the state file. */
export type TelemetryState = z.infer<typeof telemetryState>;

/** The initial state: all defaults. */
export const initialTelemetry: TelemetryState = { enabled: true, definitions: {} };

const defaultDefinition: ReportDefinition = { enabled: true, type: 'periodic', intervalSeconds: 60 };

/** Minimum interval that a client may set. */
export const MIN_INTERVAL_SECONDS = 1;
/** Maximum interval: a day. */
export const MAX_INTERVAL_SECONDS = 86_400;

/** The report definitions of all machines. */
export interface ReportDefinitions {
  /** Whether reports are enabled. */
  readonly enabled: boolean;
  /**
   * Enables or disables all reports.
   * @throws {StateFileError}, with a shared store {StoreUnavailable}, if this cannot be stored.
   */
  setEnabled(enabled: boolean): Awaitable<void>;
  /** Returns a definition; the same object until it changes. */
  get(uuid: string): ReportDefinition;
  /** Changes a definition. @throws as {@link setEnabled}. */
  change(uuid: string, change: DefinitionChange): Awaitable<void>;
  /** Removes the definitions of all machines that are not in the given set. @throws as {@link setEnabled}. */
  retain(uuids: ReadonlySet<string>): Awaitable<void>;
  /** Calls the listener after changes of other replicas. The listener must not throw. */
  onChange(listener: () => void): void;
}

/** Returns the definition with a stored change. */
export function completed({ enabled, type, intervalSeconds }: z.infer<typeof definitionChange>): ReportDefinition {
  return {
    enabled: enabled ?? defaultDefinition.enabled,
    type: type ?? defaultDefinition.type,
    intervalSeconds: intervalSeconds ?? defaultDefinition.intervalSeconds,
  };
}

/** Definitions in a file, which change at once. */
interface FileDefinitions extends ReportDefinitions {
  setEnabled(enabled: boolean): void;
  change(uuid: string, change: DefinitionChange): void;
  retain(uuids: ReadonlySet<string>): void;
}

/** Returns the definitions in a state file. A machine without a stored definition has the default. */
export function openReportDefinitions(file: StateFile<TelemetryState>): FileDefinitions {
  const cache = new Map<string, ReportDefinition>();
  return {
    get enabled() {
      return file.state.enabled;
    },
    setEnabled: (enabled) => file.update((state) => (state.enabled === enabled ? state : { ...state, enabled })),
    get(uuid) {
      const cached = cache.get(uuid);
      if (cached !== undefined) return cached;
      const stored = Object.hasOwn(file.state.definitions, uuid) ? file.state.definitions[uuid] : undefined;
      if (stored === undefined) return defaultDefinition;
      const definition = completed(stored);
      cache.set(uuid, definition);
      return definition;
    },
    change(uuid, wanted) {
      file.update((state) => ({
        ...state,
        definitions: { ...state.definitions, [uuid]: { ...state.definitions[uuid], ...wanted } },
      }));
      cache.delete(uuid);
    },
    retain(uuids) {
      for (const uuid of cache.keys()) if (!uuids.has(uuid)) cache.delete(uuid);
      file.update((state) => {
        const left = Object.entries(state.definitions).filter(([uuid]) => uuids.has(uuid));
        if (left.length === Object.keys(state.definitions).length) return state;
        return { ...state, definitions: Object.fromEntries(left) };
      });
    },
    // Ignores listeners: only this process writes the file, so no other process changes it.
    onChange: () => undefined,
  };
}
