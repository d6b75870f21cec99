/** Stores the indicators of configured chassis, because the definition of a machine cannot contain them. */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { IndicatorState } from '../../drivers/snapshot/hardware-snapshot.js';
import { openStateFile } from '../../state-file.js';

/** The indicators of configured chassis, by UUID. */
export interface IndicatorStore {
  /** Returns undefined if no client has set the indicator. */
  get(id: string): IndicatorState | undefined;
  /** Stores an indicator. @throws {StateFileError} if the file cannot be written. */
  set(id: string, state: IndicatorState): void;
}

/**
 * Opens the store, which is the file `indicators.json`. A damaged file is renamed, and the store is empty.
 * @param folder EMULATOR_STATE_DIR.
 * @throws {StateFileError} if the file exists and cannot be read.
 */
export function openIndicatorStore(folder: string, log: Pick<Log, 'warn' | 'error'>): IndicatorStore {
  const file = openStateFile<Readonly<Record<string, IndicatorState>>>({
    folder,
    name: 'indicators',
    schema: z.record(z.string(), z.enum(['lit', 'off', 'blinking'])),
    initial: {},
    log,
    broken: 'setAside',
  });
  return {
    get: (id) => file.state[id],
    set: (id, state) => file.update((states) => (states[id] === state ? states : { ...states, [id]: state })),
  };
}
