/** `racklessctl power` */
import { summaryOf } from '../machines/machine.js';
import { powerCommands, powerText, runPower, type PowerCommand } from '../machines/power.js';
import { defineCommand, type Call, type CommandDefinition, type OptionDefinition } from './command.js';
import { changeEach, labelsWithContext } from './each-machine.js';
import { printRows } from './print-rows.js';
import { allOption, machinesArgument, withMachines } from './remote.js';
import { taskTimeoutOption } from './task-options.js';

const waitOption: OptionDefinition = {
  name: 'wait',
  value: 'seconds',
  summary: 'wait until the machine has the power state, at most this number of seconds',
};

const powerCommand = (name: string, command: PowerCommand): CommandDefinition => {
  const first = command.summary.charAt(0).toUpperCase() + command.summary.slice(1);
  return defineCommand({
    name,
    summary: `${first} (ResetType ${command.resetTypes.join(' or ')})`,
    arguments: [machinesArgument],
    options: [allOption, ...(command.target === undefined ? [] : [waitOption]), taskTimeoutOption],
    isRemote: true,
    run: (call) => changePower(call, command),
  });
};

async function changePower(call: Call, command: PowerCommand): Promise<void> {
  const waitMs = call.milliseconds('wait');
  await withMachines(call, (machines) =>
    changeEach(call, machines, async (machine, options) => ({
      text: await runPower(machine, command, { waitMs, ...options }),
    })),
  );
}

const statusCommand = defineCommand({
  name: 'status',
  summary: 'Show the power state',
  arguments: [machinesArgument],
  options: [allOption],
  isRemote: true,
  run: (call) =>
    withMachines(call, (machines) => {
      const labelOf = labelsWithContext(machines);
      const labels = machines.map(labelOf);
      const rows = machines.map((machine) => {
        const { context, name, id, uuid, power, state } = summaryOf(machine);
        return { context, name, id, uuid, power, state };
      });
      printRows(call, rows, [
        { title: 'NAME', value: (_, index) => labels[index], canShrink: true },
        { title: 'POWER', value: powerText },
      ]);
    }),
});

/** Controls the power of machines. */
export const powerGroup = defineCommand({
  name: 'power',
  summary: 'Switch machines on and off, restart and interrupt them',
  description: [
    'on, off and force-off send no request to a machine that is already in the wanted state. If the service lists ' +
      'the reset types that a machine supports, racklessctl sends no other type.',
    'While the service cannot reach a machine (Status.State is UnavailableOffline), its power state is only the last ' +
      'known one. on, off and force-off then always send the request, and --wait does not accept this state.',
  ],
  commands: [statusCommand, ...Object.entries(powerCommands).map(([name, command]) => powerCommand(name, command))],
  examples: [
    { command: 'racklessctl power on node-1 --wait 60', effect: 'switches on and waits for the power state On' },
    { command: "racklessctl power force-off 'web-*'", effect: 'switches off all machines whose names begin with web-' },
    { command: 'racklessctl power status --all', effect: 'the power state of all machines' },
  ],
});
