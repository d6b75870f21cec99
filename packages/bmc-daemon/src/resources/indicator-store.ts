/** Indicators of the chassis that machines share: they belong to no machine, so the service keeps them. */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import type { IndicatorState } from '../drivers/driver.js';
import { openStateFile } from '../state-file.js';

/** Indicators of what is no machine. */
export interface IndicatorStore {
  /** undefined: nobody has set it. */
  get(id: string): IndicatorState | undefined;
  /** @throws {StateFileError} where it can not be kept. */
  set(id: string, state: IndicatorState): void;
}

/**
 * `indicators.json` in a folder.
 * @param folder EMULATOR_STATE_DIR.
 * @throws {StateFileError} where the file is there and can not be read.
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
