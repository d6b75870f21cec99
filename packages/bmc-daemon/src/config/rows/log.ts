/** The settings of the log. */
import { oneOf } from './row.js';

/** The settings, in the order of the page of the configuration. */
export const logSettings = {
  logLevel: oneOf(['error', 'warn', 'info', 'debug'], {
    name: 'EMULATOR_LOG_LEVEL',
    default: 'info',
    flag: '--debug',
    doc: 'Lowest level of the messages in the log. `--debug` sets `debug`.',
  }),
  logFormat: oneOf(['auto', 'json', 'text'], {
    name: 'EMULATOR_LOG_FORMAT',
    default: 'auto',
    doc: '`auto`: text on a terminal, otherwise one JSON object per line.',
  }),
};
