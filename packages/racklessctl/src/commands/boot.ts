/** `racklessctl boot` */
import { usageFailure } from '../failure.js';
import { bootModes, bootOf, bootTargets, clearBoot, setBoot } from '../machines/boot.js';
import { defineCommand, type Call } from './command.js';
import { changeEach, labelsWithContext } from './each-machine.js';
import { printRows } from './print-rows.js';
import { allOption, machinesArgument, withMachines } from './remote.js';
import { taskTimeoutOption } from './task-options.js';

const targetNames = Object.keys(bootTargets);

const showBoot = defineCommand({
  name: 'show',
  summary: 'Show the boot override, and what the machine can boot from',
  arguments: [machinesArgument],
  options: [allOption],
  isRemote: true,
  run: (call) =>
    withMachines(call, (machines) => {
      const labelOf = labelsWithContext(machines);
      const labels = machines.map(labelOf);
      const rows = machines.map((machine) => {
        const { context, name, id } = machine;
        return { context, name, id, ...bootOf(machine) };
      });
      printRows(call, rows, [
        { title: 'NAME', value: (_, index) => labels[index], canShrink: true },
        { title: 'TARGET', value: ({ target }) => target },
        { title: 'ENABLED', value: ({ enabled }) => enabled },
        { title: 'MODE', value: ({ mode }) => mode },
        { title: 'CAN BOOT FROM', value: ({ targets }) => targets?.join(' '), canShrink: true },
      ]);
    }),
});

async function changeBoot(call: Call): Promise<void> {
  const name = call.argument('target');
  const target = bootTargets[name];
  if (target === undefined)
    throw usageFailure(`'${name}' is not a boot target. The targets are: ${targetNames.join(', ')}`);
  if (call.flag('once') && call.flag('always')) throw usageFailure('--once and --always exclude each other');
  const mode = call.choice('mode', ['uefi', 'legacy']);
  const httpUri = call.text('http-uri');
  if (httpUri !== undefined && target !== 'UefiHttp') throw usageFailure('--http-uri needs the target uefi-http');
  const change = {
    target,
    enabled: call.flag('always') ? ('Continuous' as const) : ('Once' as const),
    mode: mode === undefined ? undefined : bootModes[mode],
    httpUri,
  };
  await withMachines(call, (machines) =>
    changeEach(call, machines, async (machine, options) => {
      await setBoot(machine, change, options);
      return { text: `boots from ${target} ${change.enabled === 'Once' ? 'once' : 'always'}`, data: { ...change } };
    }),
  );
}

const setCommand = defineCommand({
  name: 'set',
  summary: 'Select the device to boot from',
  arguments: [
    { name: 'target', summary: `the device: ${targetNames.join(', ')}`, completes: targetNames },
    machinesArgument,
  ],
  options: [
    allOption,
    { name: 'once', summary: 'for the next boot (the default)' },
    { name: 'always', summary: 'for all boots' },
    { name: 'mode', value: 'mode', summary: 'boot mode: uefi or legacy', completes: ['uefi', 'legacy'] },
    { name: 'http-uri', value: 'url', summary: 'image for uefi-http' },
    taskTimeoutOption,
  ],
  isRemote: true,
  examples: [
    { command: 'racklessctl boot set pxe node-1', effect: 'selects the network for the next boot of node-1' },
    {
      command: "racklessctl boot set cd 'web-*' --always --mode uefi",
      effect: 'selects CD for all boots of these machines, in UEFI mode',
    },
  ],
  run: changeBoot,
});

const clearCommand = defineCommand({
  name: 'clear',
  summary: "Remove the boot override, so that the machine's own order applies",
  arguments: [machinesArgument],
  options: [allOption, taskTimeoutOption],
  isRemote: true,
  run: (call) =>
    withMachines(call, (machines) =>
      changeEach(call, machines, async (machine, options) => {
        await clearBoot(machine, options);
        return { text: 'boots in its own order' };
      }),
    ),
});

/** Shows and sets boot overrides. */
export const bootGroup = defineCommand({
  name: 'boot',
  summary: 'Show and select the device that machines boot from',
  commands: [showBoot, setCommand, clearCommand],
});
