/** The English texts of the telemetry of a machine. */
export const telemetryTexts = {
  tab: 'Telemetry',
  range: 'Time range',
  ranges: [
    ['300000', 'The last 5 minutes'],
    ['1800000', 'The last 30 minutes'],
    ['7200000', 'The last 2 hours'],
  ] as readonly (readonly [string, string])[],
  interval: 'Interval of the measurements, for all users',
  intervals: {
    PT5S: 'Measured every 5 seconds',
    PT10S: 'Measured every 10 seconds',
    PT30S: 'Measured every 30 seconds',
    PT1M: 'Measured every minute',
  } as Readonly<Record<string, string>>,
  otherInterval: (duration: string) => `Measured every ${duration}`,
  hint: 'This page keeps the values while the web console is open. The service keeps only the latest values.',
  absent: 'This machine has no telemetry',
  charts: { processor: 'Processors', memory: 'Memory', disk: 'Disks', network: 'Network' },
  used: 'In use',
  read: 'Read',
  written: 'Written',
  received: 'Received',
  sent: 'Sent',
  percent: (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} %`,
  perSecond: (bytes: string) => `${bytes}/s`,
};
