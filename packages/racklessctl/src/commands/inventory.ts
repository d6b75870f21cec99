/** `racklessctl inventory` */
import { replaceFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { enrollmentFormats } from '../enrollment/index.js';
import { enrollmentNames, type EnrollmentFormat, type EnrollmentNode } from '../enrollment/node.js';
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { isUnavailable } from '../machines/power.js';
import { readFacts, type MachineFacts } from '../machines/facts.js';
import { groupByKeys } from '../machines/by-key.js';
import { selectMachines, summaryOf, type Machine, type MachineList } from '../machines/machine.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { defineCommand, type Call } from './command.js';
import { attemptEach } from './each-machine.js';
import { printRows } from './print-rows.js';
import { shownMachinesArgument, readAllMachines, reportUnread, withServices, type OpenedService } from './remote.js';

const formatNames = Object.keys(enrollmentFormats);

/** A machine with its facts. */
interface InventoryEntry {
  readonly machine: Machine;
  readonly facts: MachineFacts;
}

async function readInventory(call: Call, all: MachineList): Promise<readonly InventoryEntry[]> {
  const patterns = call.list('machines');
  const machines = patterns.length === 0 ? all.machines : selectMachines(all, patterns);
  reportUnread(call, all.unread, patterns);
  let read = 0;
  const readOne = async (machine: Machine): Promise<MachineFacts> => {
    const facts = await readFacts(machine);
    read += 1;
    call.terminal.showStatus(`read ${read} of ${machines.length} machines`);
    return facts;
  };
  const outcomes = await attemptEach(call, machines, readOne, (label, failure) => call.report(label, failure));
  return outcomes.flatMap(({ machine, result: facts }) => (facts === undefined ? [] : [{ machine, facts }]));
}

/**
 * Returns the facts. Each member that is a text has only one line: a text of a service could
 * otherwise add lines to the file.
 */
function plainFacts(facts: MachineFacts): MachineFacts {
  const texts = Object.entries(facts).map(([key, value]: [string, unknown]) => [
    key,
    typeof value === 'string' ? plainLine(value) : value,
  ]);
  // The result has the same members with the same types.
  return { ...facts, ...(Object.fromEntries(texts) as Partial<MachineFacts>) };
}

/** Returns the machines whose service has another machine with the same name. */
function sharingName(machines: readonly Machine[]): ReadonlySet<Machine> {
  const groups = groupByKeys(machines, ({ service, name }) => [JSON.stringify([service.origin.origin, name])]);
  // Several contexts can have the same machine.
  const shared = [...groups.values()].filter((group) => new Set(group.map(({ uri }) => uri)).size > 1);
  return new Set(shared.flat());
}

/** Returns the services with machines that could not be read. */
function incompleteServices(unread: MachineList['unread'], opened: readonly OpenedService[]): ReadonlySet<string> {
  const contexts = new Set(unread.map(({ context }) => context));
  const incomplete = opened.filter(({ connection }) => contexts.has(connection.name));
  // Several contexts can have the same service.
  return new Set(incomplete.map(({ service }) => service.origin.origin));
}

/**
 * Returns the machines for an enrollment file.
 * @param all all machines of the services. Names of machines that are not in the file count too: the user may add
 *   these machines later, with another file.
 */
function nodesOf(
  entries: readonly InventoryEntry[],
  { machines, unread }: MachineList,
  opened: readonly OpenedService[],
): readonly EnrollmentNode[] {
  const names = enrollmentNames(machines.map(summaryOf));
  const nameOf = new Map(machines.map((machine, index) => [machine, names[index]]));
  const shared = sharingName(machines);
  const incomplete = incompleteServices(unread, opened);
  return entries.map(({ machine, facts }) => {
    const { connection } = opened.find(({ service }) => service === machine.service) ?? {};
    const { user, ca, insecure = false, auth = 'session' } = connection ?? {};
    const name = nameOf.get(machine) ?? machine.id;
    const mayShareName = incomplete.has(machine.service.origin.origin) ? 'unknown' : false;
    const sharesName = shared.has(machine) || mayShareName;
    return { name, facts: plainFacts(facts), user, ca, insecure, auth, sharesName };
  });
}

/** Why an unavailable machine is left out: the service may not know its interfaces, its size and whether it runs. */
const unavailable = 'the service cannot reach the machine (UnavailableOffline), so the data may be incomplete';

/** Returns the text of an enrollment file. Leaves out and reports each machine that the file cannot describe. */
function render(
  call: Call,
  { rejects, warnings, render: renderNodes }: EnrollmentFormat,
  nodes: readonly EnrollmentNode[],
): string {
  const included: EnrollmentNode[] = [];
  const notes: string[] = [];
  for (const node of nodes) {
    const reason = isUnavailable(node.facts) ? unavailable : rejects?.(node);
    if (reason === undefined) included.push(node);
    else {
      notes.push(`Left out: ${node.name}: ${reason}`);
      call.report(node.name, new CommandFailure(exitCode.failed, `left out: ${reason}`));
    }
  }
  for (const warning of warnings?.(included) ?? []) {
    notes.push(warning);
    call.terminal.complain(`racklessctl: warning: ${warning}`);
  }
  return renderNodes(included, notes);
}

function writeOutput(call: Call, text: string): void {
  const file = call.text('output');
  if (file === undefined) {
    call.terminal.print(text.trimEnd());
    return;
  }
  try {
    replaceFile(file, text);
  } catch (error) {
    throw new CommandFailure(exitCode.failed, `writing ${file}: ${fileReason(error)}`, { cause: error });
  }
}

async function printInventory(call: Call): Promise<void> {
  const name = call.text('format');
  const format = name !== undefined && formatNames.includes(name) ? enrollmentFormats[name] : undefined;
  if (name !== undefined && format === undefined)
    throw usageFailure(`--format must be one of ${formatNames.join(', ')}, not '${name}'`);
  if (format !== undefined && call.flag('json')) throw usageFailure('--format and --json exclude each other');
  if (format === undefined && call.text('output') !== undefined) throw usageFailure('--output needs --format');
  await withServices(call, async (opened, selected) => {
    const all = await readAllMachines(call, opened, selected);
    const entries = await readInventory(call, all);
    if (format !== undefined) {
      writeOutput(call, render(call, format, nodesOf(entries, all, opened)));
      return;
    }
    const several = opened.length > 1;
    printRows(
      call,
      entries.map(({ facts }) => facts),
      [
        ...(several ? [{ title: 'CONTEXT', value: ({ context }: MachineFacts) => context, canShrink: true }] : []),
        { title: 'NAME', value: ({ name }) => name, canShrink: true },
        { title: 'ARCH', value: ({ architecture }) => architecture },
        { title: 'CPUS', value: ({ cpus }) => cpus },
        { title: 'MEMORY', value: ({ memoryGib }) => (memoryGib === undefined ? undefined : `${memoryGib} GiB`) },
        { title: 'BOOT', value: ({ bootMode }) => bootMode },
        {
          title: 'MAC ADDRESSES',
          value: ({ interfaces }) => interfaces.map(({ mac }) => mac).join(' '),
          canShrink: true,
        },
      ],
      { none: 'There are no machines.' },
    );
  });
}

/** Reads facts about machines, and writes enrollment files. */
export const inventoryCommand = defineCommand({
  name: 'inventory',
  summary: 'Read facts about machines, and write enrollment files',
  description: [
    `The formats are: ${Object.entries(enrollmentFormats)
      .map(([name, { summary }]) => `${name}: ${summary}`)
      .join('; ')}.`,
    'The file contains no password. Comments at its beginning say how to add one.',
    'If a machine cannot be in the file, racklessctl leaves it out, reports the reason and exits with 1.',
  ],
  arguments: [shownMachinesArgument],
  options: [
    {
      name: 'format',
      letter: 'f',
      value: 'format',
      summary: `${formatNames.join(', ')}; not with --json (default: a table)`,
      completes: formatNames,
    },
    {
      name: 'output',
      letter: 'o',
      value: 'file',
      summary: 'write to a file, not to standard output; needs --format',
      completes: 'files',
    },
  ],
  isRemote: true,
  examples: [
    {
      command: "racklessctl inventory -c 'rack1-*' --format ironic -o nodes.yaml",
      effect: 'the nodes of a rack for baremetal create',
    },
    { command: 'racklessctl inventory --format metal3 | kubectl apply -f -', effect: 'BareMetalHosts of all machines' },
    { command: 'racklessctl inventory --json', effect: 'the facts for a script' },
  ],
  run: printInventory,
});
