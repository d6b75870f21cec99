/** Resolves the time limits of a deployment from the places that may set them. */
import type { Timeouts } from '../../providers/deployment.js';
import { defaults } from '../defaults.js';
import type { Block } from '../faults.js';
import type { routerTable } from '../routing/router-table.js';
import type { paramsTable, settingsTable } from '../settings.js';

/** The places in a configuration that set time limits. */
export interface TimeoutSources {
  readonly settings: Block<typeof settingsTable>;
  readonly router: Block<typeof routerTable>;
  /** Used if the deployment, `router_settings` and `litellm_settings` set no limit. */
  readonly requestTimeoutSeconds: number;
}

const ms = (seconds: number) => (seconds === 0 ? null : Math.round(seconds * 1000));

function totalSeconds({ values }: Block<typeof paramsTable>, sources: TimeoutSources): number {
  const { router, settings, requestTimeoutSeconds } = sources;
  return values.timeout ?? router.values.timeout ?? settings.values.requestTimeout ?? requestTimeoutSeconds;
}

/** Returns the limits of a plain answer in milliseconds; null: no limit. */
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
 * Returns the limits of a streamed answer. A stream has no limit for the total time. `stream_timeout` limits the time
 * to the first byte (0: no limit), and has precedence over `first_byte_timeout`. If `stream_timeout` is not set and
 * `first_byte_timeout` is absent or 0, the total limit of a plain answer limits this time, as in LiteLLM's HTTP client.
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
