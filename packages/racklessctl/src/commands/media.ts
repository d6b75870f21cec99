/** `racklessctl media` */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { getPassword } from '../contexts/password.js';
import { usageFailure } from '../failure.js';
import { ejectMedia, insertMedia, readDrives } from '../machines/media.js';
import { defineCommand, type Call, type OptionDefinition } from './command.js';
import { changeEach } from './each-machine.js';
import { printRows } from './print-rows.js';
import { allOption, machineArgument, machinesArgument, withMachine, withMachines } from './remote.js';
import { taskTimeoutOption } from './task-options.js';

const driveOption: OptionDefinition = {
  name: 'drive',
  letter: 'd',
  value: 'drive',
  summary: 'id of a drive, or cd, dvd, usb or floppy',
  completes: ['cd', 'dvd', 'usb', 'floppy'],
};

const listMedia = defineCommand({
  name: 'list',
  summary: 'List the virtual drives of a machine',
  arguments: [machineArgument],
  isRemote: true,
  run: (call) =>
    withMachine(call, async (machine) => {
      const rows = (await readDrives(machine)).map(({ uri, id, types, isInserted, image }) => ({
        ...{ id, uri, types, inserted: isInserted },
        // Masks the query of the URL, because it may contain a token.
        image: image === undefined ? undefined : maskUrl(image),
      }));
      printRows(call, rows, [
        { title: 'DRIVE', value: ({ id }) => id },
        { title: 'TYPES', value: ({ types }) => types.join(' ') },
        { title: 'INSERTED', value: ({ inserted }) => (inserted ? 'yes' : 'no') },
        { title: 'IMAGE', value: ({ image }) => image, canShrink: true },
      ]);
    }),
});

async function insert(call: Call): Promise<void> {
  const url = call.argument('url');
  if (!URL.canParse(url)) {
    // Other commands have the machine first, so users exchange the two arguments.
    throw usageFailure(`'${maskUrl(url)}' is not a URL. Use: racklessctl media insert URL MACHINE`);
  }
  const drive = call.text('drive') ?? 'cd';
  const user = call.text('image-user');
  const file = call.text('image-password-file');
  const { stdin, stderr } = call.terminal.streams;
  const password =
    user === undefined
      ? undefined
      : await getPassword(
          file === undefined ? undefined : { kind: 'file', file },
          `${user} at the server of the image`,
          { input: stdin, output: stderr },
          call.signal,
        );
  const image = { url, isWritable: call.flag('writable'), user, password };
  await withMachines(call, (machines) =>
    changeEach(call, machines, async (machine, options) => {
      const inserted = await insertMedia(machine, image, drive, options);
      return { text: `inserted into ${inserted}`, data: { drive: inserted } };
    }),
  );
}

const insertCommand = defineCommand({
  name: 'insert',
  summary: 'Insert an image into a virtual drive',
  description: ['The BMC downloads the image, so the BMC must be able to reach the URL.'],
  arguments: [
    { name: 'url', summary: 'URL of the image, for example https://192.0.2.9/installer.iso' },
    machinesArgument,
  ],
  options: [
    allOption,
    { ...driveOption, default: 'cd' },
    { name: 'writable', summary: 'the machine may write to the image' },
    { name: 'image-user', value: 'name', summary: 'user at the server of the image' },
    {
      name: 'image-password-file',
      value: 'file',
      summary: 'file with the password of that user; without it, racklessctl asks',
      completes: 'files',
    },
    taskTimeoutOption,
  ],
  isRemote: true,
  examples: [
    {
      command: 'racklessctl media insert http://192.0.2.9/installer.iso node-1 && racklessctl boot set cd node-1',
      effect: 'the next boot starts the installer',
    },
  ],
  run: insert,
});

const ejectCommand = defineCommand({
  name: 'eject',
  summary: 'Eject images',
  arguments: [machinesArgument],
  options: [allOption, { ...driveOption, default: 'all drives' }, taskTimeoutOption],
  isRemote: true,
  run: (call) =>
    withMachines(call, (machines) =>
      changeEach(call, machines, async (machine, options) => {
        const drives = await ejectMedia(machine, call.text('drive'), options);
        return { text: drives.length === 0 ? 'nothing to eject' : `ejected ${drives.join(', ')}`, data: { drives } };
      }),
    ),
});

/** Lists drives, and inserts and ejects images. */
export const mediaGroup = defineCommand({
  name: 'media',
  summary: 'Insert images into virtual drives, and eject them',
  commands: [listMedia, insertCommand, ejectCommand],
});
