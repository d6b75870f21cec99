/** `racklessctl inventory` */
import { replaceFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { enrollmentFormats } from '../enrollment/index.js';
import { enrollmentNames } from '../enrollment/node.js';
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { readFacts, type MachineFacts } from '../machines/facts.js';
import { selectMachines, type Machine, type MachineList } from '../machines/machine.js';
import { plainLine } from '@rackless/daemon/text/plain-text.js';
import { defineCommand, type Call } from './command.js';
import { attemptEach } from './each-machine.js';
import { printRows } from './print-rows.js';
import { shownMachinesArgument, readAllMachines, reportUnread, withServices, type OpenedService } from './remote.js';

const formatNames = Object.keys(enrollmentFormats);

async function readInventory(call: Call, all: MachineList): Promise<readonly MachineFacts[]> {
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
  return outcomes.flatMap(({ result }) => result ?? []);
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

function render(call: Call, format: string, facts: readonly MachineFacts[], opened: readonly OpenedService[]): string {
  const names = enrollmentNames(facts);
  const nodes = facts.map((each, index) => {
    const { connection } =
      opened.find(({ connection: { name, url } }) => name === each.context && url.origin === each.bmc) ?? {};
    const { user, ca, insecure = false, auth = 'session' } = connection ?? {};
    return { name: names[index] ?? each.id, facts: plainFacts(each), user, ca, insecure, auth };
  });
  return enrollmentFormats[format]?.render(nodes) ?? '';
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
  const format = call.text('format');
  if (format !== undefined && enrollmentFormats[format] === undefined)
    throw usageFailure(`--format must be one of ${formatNames.join(', ')}, not '${format}'`);
  if (format !== undefined && call.flag('json')) throw usageFailure('--format and --json exclude each other');
  if (format === undefined && call.text('output') !== undefined) throw usageFailure('--output needs --format');
  await withServices(call, async (opened, selected) => {
    const facts = await readInventory(call, await readAllMachines(call, opened, selected));
    if (format !== undefined) {
      writeOutput(call, render(call, format, facts, opened));
      return;
    }
    const several = opened.length > 1;
    printRows(
      call,
      facts,
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
