/** A log for tests, which gives its lines to a function. */
import { createLog, type Log, type LogOptions } from '../../src/log/log.js';

/**
 * Creates a log that is ready to write. A log of the product loads winston up to 250 ms after its
 * first line. If a test file ends within that time, Jest can no longer load modules and reports a
 * failure. This function therefore loads winston at once, with a first line that `write` does not get.
 */
export function createTestLog(options: LogOptions & Required<Pick<LogOptions, 'write'>>): Log {
  let isReady = false;
  const log = createLog({ ...options, write: (lines) => isReady && options.write(lines) });
  log.error('load winston');
  log.flush();
  isReady = true;
  return log;
}
