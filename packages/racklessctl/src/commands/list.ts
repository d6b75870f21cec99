/** `racklessctl list` */
import { isGlob } from '../machines/glob.js';
import { nameKey } from '../machines/label.js';
import { selectShownMachines, summaryOf, unreadMatching, type MachineList } from '../machines/machine.js';
import { powerText } from '../machines/power.js';
import type { Column } from '../output/table.js';
import { defineCommand } from './command.js';
import { printRows } from './print-rows.js';
import { shownMachinesArgument, reportUnread, withAllMachines } from './remote.js';

/** A row: the values of a machine. If the machine cannot be read: its context, id and URI, and the reason. */
type ListedMachine = Partial<ReturnType<typeof summaryOf>> & {
  readonly name: string;
  readonly id: string;
  readonly uri: string;
  /** Why the machine cannot be read; absent if it was read. */
  readonly error?: string;
};

const name: Column<ListedMachine> = { title: 'NAME', value: (row) => row.name, canShrink: true };
const context: Column<ListedMachine> = { title: 'CONTEXT', value: (row) => row.context, canShrink: true };
const chassis: Column<ListedMachine> = { title: 'CHASSIS', value: (row) => row.chassis?.join(' '), canShrink: true };
const columns: readonly Column<ListedMachine>[] = [
  { title: 'POWER', value: ({ power, state, error }) => (error === undefined ? powerText({ power, state }) : '?') },
  { title: 'HEALTH', value: ({ health }) => health },
  { title: 'CPUS', value: ({ cpus }) => cpus },
  { title: 'MEMORY', value: ({ memoryGib }) => (memoryGib === undefined ? undefined : `${memoryGib} GiB`) },
  { title: 'MODEL', value: ({ manufacturer, model }) => modelOf(manufacturer, model), canShrink: true },
];
const wideColumns: readonly Column<ListedMachine>[] = [
  { title: 'ID', value: ({ id }) => id, canShrink: true },
  { title: 'UUID', value: ({ uuid }) => uuid, canShrink: true },
  { title: 'SERIAL', value: ({ serial }) => serial, canShrink: true },
  { title: 'BIOS', value: ({ bios }) => bios, canShrink: true },
  { title: 'HOST NAME', value: ({ hostName }) => hostName, canShrink: true },
];

/** Returns the manufacturer and the model: only one if the other is unknown, or if the model names the manufacturer. */
function modelOf(manufacturer: string | undefined, model: string | undefined): string | undefined {
  if (manufacturer === undefined || model?.startsWith(manufacturer) === true) return model;
  return model === undefined ? manufacturer : `${manufacturer} ${model}`;
}

/**
 * Returns the rows of the machines that the patterns select; without patterns, of all machines. A machine that
 * cannot be read has a row only if there are no patterns, or if a glob matches its id.
 */
function rowsOf(list: MachineList, patterns: readonly string[]): readonly ListedMachine[] {
  const machines = patterns.length === 0 ? list.machines : selectShownMachines(list, patterns);
  const shown = new Set(patterns.filter(isGlob).flatMap((glob) => unreadMatching(list, glob)));
  const unread = list.unread.filter((each) => patterns.length === 0 || shown.has(each));
  return [
    ...machines.map(summaryOf),
    ...unread.map(({ context, id, uri, failure }) => ({ context, name: id, id, uri, error: failure.message })),
  ];
}

/** Returns whether two machines of one service have the same name, for example because they are on two hosts. */
const haveEqualNames = (rows: readonly ListedMachine[]): boolean => new Set(rows.map(nameKey)).size < rows.length;

/** Lists machines. */
export const listCommand = defineCommand({
  name: 'list',
  summary: 'List machines with their power state, health and size',
  arguments: [shownMachinesArgument],
  options: [
    {
      name: 'wide',
      letter: 'w',
      summary: 'also the columns chassis, id, UUID, serial number, BIOS and host name; no text is cut',
    },
  ],
  isRemote: true,
  examples: [
    { command: 'racklessctl list', effect: 'the machines of the current context' },
    { command: "racklessctl list --context 'rack1-*'", effect: 'the machines of several services in one table' },
    { command: "racklessctl list --json | jq -r '.[].uuid'", effect: 'the UUIDs, for a script' },
  ],
  run: (call) =>
    withAllMachines(call, (list) => {
      const patterns = call.list('machines');
      const rows = rowsOf(list, patterns);
      reportUnread(call, list.unread, patterns);
      const several = new Set(rows.map((row) => row.context)).size > 1;
      const isWide = call.flag('wide');
      const shown = [
        ...(several ? [context] : []),
        name,
        ...(isWide || haveEqualNames(rows) ? [chassis] : []),
        ...columns,
        ...(isWide ? wideColumns : []),
      ];
      const options = { none: 'There are no machines.', isCut: !isWide, allColumns: '--wide, --json' };
      printRows(call, rows, shown, options);
    }),
});
