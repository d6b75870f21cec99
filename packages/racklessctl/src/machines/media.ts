/** Virtual media of a machine. */
import { CommandFailure, exitCode } from '../failure.js';
import { readMembers } from '../redfish/collection.js';
import { flagAt, linkAt, objectAt, textAt, textsAt, type Resource } from '../redfish/resource.js';
import type { WriteAnswer } from '../redfish/service.js';
import { completeTask, type TaskOptions } from '../redfish/task.js';
import { managersOf, type Machine } from './machine.js';

/** A virtual drive. */
interface MediaDrive {
  readonly uri: string;
  readonly id: string;
  /** Media types of Redfish, such as `CD` or `USBStick`. */
  readonly types: readonly string[];
  readonly isInserted: boolean;
  /** URL of the image; its name if the service reports no URL. */
  readonly image: string | undefined;
  readonly resource: Resource;
}

/** An image to insert. */
interface MediaImage {
  readonly url: string;
  readonly isWritable: boolean;
  /** The user at the server of the image; undefined: no login. */
  readonly user: string | undefined;
  readonly password: string | undefined;
}

/**
 * Reads the drives. Services link them from the system or from its managers. Returns the drives of the first of
 * these that has any.
 * @throws {CommandFailure} also if there are no drives.
 */
export async function readDrives(machine: Machine): Promise<readonly MediaDrive[]> {
  const { service, resource } = machine;
  for (const owner of [resource, ...managersOf(machine)]) {
    const holder = typeof owner === 'string' ? await service.find(owner) : owner;
    const collection = linkAt(holder, 'VirtualMedia');
    const members = collection === undefined ? [] : await readMembers(service, collection);
    if (members.length > 0) return members.flatMap(driveOf);
  }
  throw new CommandFailure(exitCode.failed, 'the service offers no virtual media for this machine');
}

function driveOf(resource: Resource): MediaDrive[] {
  const uri = linkAt(resource);
  if (uri === undefined) return [];
  const image = textAt(resource, 'Image') ?? textAt(resource, 'ImageName');
  return [
    {
      uri,
      id: textAt(resource, 'Id') ?? uri.replace(/^.*\//, ''),
      types: textsAt(resource, 'MediaTypes') ?? [],
      isInserted: flagAt(resource, 'Inserted') ?? image !== undefined,
      image,
      resource,
    },
  ];
}

/** Media types by the names that users give. */
const typesByName: Readonly<Record<string, readonly string[]>> = {
  cd: ['CD', 'DVD'],
  dvd: ['DVD', 'CD'],
  usb: ['USBStick'],
  floppy: ['Floppy'],
};

/**
 * Returns the drives with an id, or else those with a type (`cd`, `dvd`, `usb`, `floppy`).
 * @throws {CommandFailure} if there are none.
 */
function drivesNamed(drives: readonly MediaDrive[], name: string): readonly MediaDrive[] {
  const byId = drives.filter(({ id }) => id.toLowerCase() === name.toLowerCase());
  const types = typesByName[name.toLowerCase()] ?? [];
  const found = byId.length > 0 ? byId : drives.filter((drive) => drive.types.some((type) => types.includes(type)));
  if (found.length > 0) return found;
  throw new CommandFailure(
    exitCode.failed,
    `there is no drive '${name}'. The drives are: ${drives.map(({ id, types: all }) => `${id} (${all.join(', ')})`).join(', ')}`,
  );
}

/**
 * Inserts an image into a drive with the given id or type: the first empty one, or the first one
 * if none is empty.
 * @returns the id of the drive.
 * @throws {CommandFailure}
 */
export async function insertMedia(
  machine: Machine,
  image: MediaImage,
  drive: string,
  options: TaskOptions,
): Promise<string> {
  const drives = drivesNamed(await readDrives(machine), drive);
  const chosen = drives.find(({ isInserted }) => !isInserted) ?? drives[0];
  if (chosen === undefined) throw new CommandFailure(exitCode.failed, `there is no drive '${drive}'`);
  await completeTask(machine.service, await sendInsert(machine, chosen, image), options);
  return chosen.id;
}

async function sendInsert(
  { service }: Machine,
  { uri, resource }: MediaDrive,
  image: MediaImage,
): Promise<WriteAnswer> {
  const body = {
    Image: image.url,
    ...(image.isWritable ? { WriteProtected: false } : {}),
    ...(image.user === undefined ? {} : { UserName: image.user }),
    ...(image.password === undefined ? {} : { Password: image.password }),
  };
  const path = linkAt(objectAt(resource, 'Actions', '#VirtualMedia.InsertMedia'), 'target');
  // Older services have no action for this. They insert an image when a PATCH sets `Image`.
  if (path === undefined) return service.patch(uri, { ...body, Inserted: true }, 'inserting the image');
  try {
    return await service.post(path, body, 'inserting the image');
  } catch (error) {
    // Some services require parameters that are optional in the schema. Such a service has changed
    // nothing, so it is safe to send the request again with all parameters.
    const isMissing =
      error instanceof CommandFailure && /TransferProtocolType|TransferMethod|Inserted/.test(error.message);
    if (!isMissing || error.code !== exitCode.failed) throw error;
    const complete = {
      Inserted: true,
      WriteProtected: !image.isWritable,
      TransferMethod: 'Stream',
      TransferProtocolType: new URL(image.url).protocol.slice(0, -1).toUpperCase(),
    };
    return service.post(path, { ...complete, ...body }, 'inserting the image');
  }
}

/**
 * Ejects the images of the drives with the id or type `name`; without `name`, of all drives. If an eject fails, the
 * later drives keep their images.
 * @returns the ids of the drives that had an image.
 * @throws {CommandFailure}
 */
export async function ejectMedia(
  machine: Machine,
  name: string | undefined,
  options: TaskOptions,
): Promise<readonly string[]> {
  const { service } = machine;
  const all = await readDrives(machine);
  const inserted = (name === undefined ? all : drivesNamed(all, name)).filter(({ isInserted }) => isInserted);
  for (const { uri, resource } of inserted) {
    const path = linkAt(objectAt(resource, 'Actions', '#VirtualMedia.EjectMedia'), 'target');
    const answer =
      path === undefined
        ? await service.patch(uri, { Image: null, Inserted: false }, 'ejecting the image')
        : await service.post(path, {}, 'ejecting the image');
    await completeTask(service, answer, options);
  }
  return inserted.map(({ id }) => id);
}
