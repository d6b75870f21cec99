/** How long an upstream is waited for: which of the places that may say so wins. */
import type { Timeouts } from '../providers/deployment.js';
import { defaults } from './defaults.js';
import type { Block } from './faults.js';
import type { paramsTable, routerTable, settingsTable } from './settings.js';

export interface TimeoutSources {
  readonly settings: Block<typeof settingsTable>;
  readonly router: Block<typeof routerTable>;
  /** What holds where neither deployment, router nor general settings say anything. */
  readonly requestTimeoutSeconds: number;
}

const ms = (seconds: number) => (seconds === 0 ? null : Math.round(seconds * 1000));

function totalSeconds({ values }: Block<typeof paramsTable>, sources: TimeoutSources): number {
  const { router, settings, requestTimeoutSeconds } = sources;
  return values.timeout ?? router.values.timeout ?? settings.values.requestTimeout ?? requestTimeoutSeconds;
}

/** Bounds of a plain answer. */
export function timeoutsOf(block: Block<typeof paramsTable>, sources: TimeoutSources): Timeouts {
  const own = block.values;
  const general = sources.settings.values;
  const firstByte = own.firstByteTimeout ?? general.firstByteTimeout;
  return {
    connectMs: ms(own.connectTimeout ?? general.connectTimeout ?? defaults.connectTimeoutSeconds),
    firstByteMs: firstByte === undefined ? null : ms(firstByte),
    idleMs: ms(own.idleTimeout ?? general.idleTimeout ?? defaults.idleTimeoutSeconds),
    totalMs: ms(totalSeconds(block, sources)),
  };
}

/**
 * Bounds of a streamed answer. A stream may take as long as it has something to say: what bounds a plain answer bounds its first byte, as LiteLLM's HTTP client
 * has it.
 */
export function streamTimeoutsOf(block: Block<typeof paramsTable>, sources: TimeoutSources): Timeouts {
  const { router } = sources;
  const plain = timeoutsOf(block, sources);
  const streamTimeout = block.values.streamTimeout ?? router.values.streamTimeout;
  return {
    ...plain,
    firstByteMs: streamTimeout === undefined ? (plain.firstByteMs ?? plain.totalMs) : ms(streamTimeout),
    totalMs: null,
  };
}
