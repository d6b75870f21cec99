/** `racklessctl log` */
import { clearLog, findLog, readEntries, readLogs, type Log, type LogEntry } from '../machines/log.js';
import type { Machine } from '../machines/machine.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { wait } from '../redfish/wait.js';
import { defineCommand, type Call, type OptionDefinition } from './command.js';
import { printRows } from './print-rows.js';
import { machineArgument, withMachine } from './remote.js';
import { taskOptions, taskTimeoutOption } from './task-options.js';

const DEFAULT_LINES = 50;
const DEFAULT_INTERVAL_SECONDS = 5;

const logOption: OptionDefinition = {
  name: 'log',
  letter: 'l',
  value: 'id',
  summary: 'id of the log',
  default: 'the log of events',
};

const listLogs = defineCommand({
  name: 'list',
  summary: 'List the logs of a machine, of its managers and of its chassis',
  arguments: [machineArgument],
  isRemote: true,
  run: (call) =>
    withMachine(call, async (machine) => {
      printRows(call, await readLogs(machine), [
        { title: 'LOG', value: ({ id }) => id },
        { title: 'OF', value: ({ owner }) => owner },
        { title: 'NAME', value: ({ name }) => name, canShrink: true },
        { title: 'CAN BE CLEARED', value: ({ clear }) => (clear === undefined ? 'no' : 'yes') },
      ]);
    }),
});

/** Returns an entry as one line. Does not cut it, because the end of a message may be the important part. */
const lineOf = ({ time = '-', severity = '-', message }: LogEntry): string =>
  `${plainLine(time).padEnd(25)}  ${plainLine(severity).padEnd(8)}  ${plainLine(message)}`;

function printEntries(call: Call, entries: readonly LogEntry[]): void {
  for (const entry of entries)
    if (call.flag('json')) call.terminal.printJsonLine(entry);
    else call.terminal.print(lineOf(entry));
}

type Reading = Awaited<ReturnType<typeof readEntries>>;

function warnIfIncomplete(call: Call, log: Log, { failure }: Reading): void {
  if (failure !== undefined) call.report(`the log ${log.id} is incomplete`, failure);
}

async function follow(call: Call, machine: Machine, log: Log, existing: Reading): Promise<void> {
  const interval = call.milliseconds('interval') ?? DEFAULT_INTERVAL_SECONDS * 1000;
  let known = new Set(existing.entries.map(({ id }) => id));
  let warned = existing.failure?.message;
  for (;;) {
    await wait(interval, call.signal);
    const reading = await readEntries(machine, log);
    const { entries, failure } = reading;
    printEntries(
      call,
      entries.filter(({ id }) => !known.has(id)),
    );
    // Prints a warning only once: the same warning after each interval would hide the entries.
    if (failure?.message !== warned) warnIfIncomplete(call, log, reading);
    warned = failure?.message;
    // An incomplete reading may lack entries that were already printed, so their ids stay known.
    known = new Set([...(failure === undefined ? [] : known), ...entries.map(({ id }) => id)]);
  }
}

const showLog = defineCommand({
  name: 'show',
  summary: 'Show the last entries of a log',
  description: [
    'If the service returns only a part of the log, the command shows this part, prints a warning, and ends with the exit code of the failure.',
  ],
  arguments: [machineArgument],
  options: [
    logOption,
    { name: 'lines', letter: 'n', value: 'number', summary: 'number of entries', default: String(DEFAULT_LINES) },
    { name: 'follow', letter: 'f', summary: 'continue with new entries until Ctrl-C' },
    {
      name: 'interval',
      value: 'seconds',
      summary: 'pause between two reads with --follow',
      default: String(DEFAULT_INTERVAL_SECONDS),
    },
  ],
  isRemote: true,
  examples: [
    { command: 'racklessctl log show node-1 --follow', effect: 'the last events, then new ones' },
    { command: 'racklessctl log show node-1 --log ConsoleLog', effect: 'the last lines of the serial console' },
  ],
  run: (call) =>
    withMachine(call, async (machine) => {
      const lines = call.number('lines') ?? DEFAULT_LINES;
      const log = await findLog(machine, call.text('log'));
      const reading = await readEntries(machine, log);
      const last = reading.entries.slice(-lines);
      if (call.flag('follow')) {
        printEntries(call, last);
        warnIfIncomplete(call, log, reading);
        await follow(call, machine, log, reading);
      } else if (call.flag('json')) call.terminal.printJson(last);
      else if (last.length === 0) call.terminal.complain(`The log ${log.id} is empty.`);
      else printEntries(call, last);
      warnIfIncomplete(call, log, reading);
    }),
});

const clearCommand = defineCommand({
  name: 'clear',
  summary: 'Clear a log',
  arguments: [machineArgument],
  options: [logOption, taskTimeoutOption],
  isRemote: true,
  run: (call) =>
    withMachine(call, async (machine) => {
      const log = await findLog(machine, call.text('log'));
      await clearLog(
        machine,
        log,
        taskOptions(call, () => undefined),
      );
      if (call.flag('json')) call.terminal.printJson({ name: machine.name, id: machine.id, log: log.id });
      else call.terminal.print(`${machine.name}: the log ${log.id} is empty`);
    }),
});

/** Shows and clears logs. */
export const logGroup = defineCommand({
  name: 'log',
  summary: 'Show and clear the logs of machines',
  commands: [listLogs, showLog, clearCommand],
});
