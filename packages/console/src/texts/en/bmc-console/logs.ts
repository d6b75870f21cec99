/** The English texts of the logs of a machine. */
const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** The texts of the tabs Events and Console log. */
export const logsTexts = {
  events: {
    tab: 'Events',
    label: 'Event log',
    search: 'Search the events',
    severity: 'Severity',
    anySeverity: 'Any severity',
    columns: { created: 'Time', severity: 'Severity', message: 'Message', id: 'Message ID' },
    count: (shown: number, all: number) => (shown === all ? count(all, 'event') : `${shown} of ${count(all, 'event')}`),
    empty: 'No events',
    noMatch: 'No event matches',
    clear: 'Clear the log',
    confirm: (machine: string) => `Clear the event log of ${machine}?`,
    lost: (events: number) => `${count(events, 'event')}, for all users`,
    cleared: 'The event log was cleared.',
  },
  console: {
    tab: 'Console log',
    label: 'Recorded output of the serial port',
    boot: 'Boot',
    bootOf: (name: string, time: string, size: string) => `${name}, ${time}, ${size}`,
    search: 'Show only lines that contain',
    lines: (shown: number, all: number) => (shown === all ? count(all, 'line') : `${shown} of ${count(all, 'line')}`),
    follow: 'Follow the end',
    download: 'Download',
    empty: 'No output yet',
    emptyHint: 'The service records what the machine writes to its serial port.',
    absent: 'This service records no console output',
    absentHint: 'The setting EMULATOR_CONSOLE_LOG turns the recording on.',
  },
};
