/** Servers as Nova's API shows them. */
import { z } from 'zod';
import type { MachineFault } from '../../snapshot/system-snapshot.js';
import { listOf, textsSchema } from '../http/answer-forms.js';
import { shortLine, plainName } from '../http/plain-text.js';
import { cloudTime } from './action-records.js';

/** A MAC address, which becomes part of URIs. Addresses of InfiniBand are longer. */
export const macSchema = z
  .string()
  .regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5,19}$/i)
  .toLowerCase();
/** Maximum number of ports of a server that the daemon shows. */
export const MAX_PORTS = 128;

/** The address of a port. */
const addressSchema = z.object({ 'OS-EXT-IPS-MAC:mac_addr': macSchema.optional() });

/** The id becomes part of URIs, so only these characters are allowed. */
const idSchema = z.guid().toLowerCase();

/**
 * Nova's database stores counts up to 2^31-1. The daemon rejects larger counts, because they would
 * make its answers extremely long.
 */
const countSchema = z
  .int()
  .min(0)
  .max(2 ** 31 - 1);

const fullSchema = z.object({
  id: idSchema,
  name: z.string(),
  description: z.string().nullish().catch(null),
  status: z.string(),
  metadata: textsSchema.default({}),
  tags: listOf(z.string()).default([]),
  flavor: z.object({
    vcpus: countSchema,
    ram: countSchema,
    original_name: z.string(),
    // For a size of 0, some versions of Nova send an empty text.
    disk: countSchema.catch(0),
    ephemeral: countSchema.catch(0),
    swap: countSchema.catch(0),
    // Absent if a policy of the cloud hides them.
    extra_specs: textsSchema.default({}),
  }),
  // An empty text: the server boots from a volume.
  image: z.union([z.object({ id: z.string() }), z.string()]).nullish(),
  'os-extended-volumes:volumes_attached': listOf(z.object({ id: z.string() })).default([]),
  addresses: z.record(z.string(), listOf(addressSchema)).default({}),
  // Nova sends a fault in the states ERROR and DELETED, and some versions also later. The schema omits `details`: the
  // traceback is not for clients.
  fault: z
    .object({ message: z.string().default(''), created: z.string().default('') })
    .nullish()
    .catch(null),
  'OS-EXT-STS:task_state': z.string().nullable(),
  'OS-EXT-STS:vm_state': z.string(),
  'OS-EXT-STS:power_state': z.number(),
});

/** Maximum number of volumes of a server that the daemon shows. */
const MAX_VOLUMES = 128;
/** Ids of volumes become part of URIs, so only these characters are allowed. */
const volumeId = /^[\w-]{1,64}$/;

/** The part of a server that Nova still knows while the server's cell is down. */
const partialSchema = z.object({ id: idSchema, status: z.literal('UNKNOWN') });
const onlyIdSchema = z.object({ id: idSchema });
const projectSchema = z.object({ tenant_id: z.string() });

/** The size of a server. Later changes of the flavor do not affect it. */
interface Flavor {
  readonly name: string;
  readonly vcpus: number;
  readonly ramMiB: number;
  /** 0: the disk has the size of the image. */
  readonly diskGiB: number;
  readonly ephemeralGiB: number;
  readonly swapMiB: number;
  /** Undefined: the flavor does not set it, or a policy of the cloud hides it. */
  readonly secureBoot: string | undefined;
}

/** One server. */
export interface Server {
  /** Canonical lower-case UUID. */
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly flavor: Flavor;
  /** Null: the server boots from a volume. */
  readonly imageId: string | null;
  /** The reason for the state ERROR; null in all other states, or if Nova does not report it. */
  readonly fault: MachineFault | null;
  /** Attached volumes of Cinder. */
  readonly volumeIds: readonly string[];
  /** MAC addresses of ports with an IP address, in lower case. */
  readonly macs: readonly string[];
  /** The running task of Nova (`task_state`), for example `powering-off`; null: none. */
  readonly task: string | null;
  /** `active`, `stopped`, `paused`, `suspended`, `rescued`, `error`, … */
  readonly vmState: string;
  /** 0 unknown, 1 running, 3 paused, 4 off, 6 crashed, 7 suspended. */
  readonly powerState: number;
}

/** A server with only its id, because its cell does not answer or Nova sent an unexpected form. */
export interface UnknownServer {
  readonly id: string;
}

/** Returns whether more than the id of the server is known. */
export function isKnown(server: Server | UnknownServer): server is Server {
  return 'vmState' in server;
}

/** Parses one server, or the part of it that Nova knows while the cell of the server is down. */
export function parseServer(value: unknown): z.ZodSafeParseResult<Server | UnknownServer> {
  const full = fullSchema.safeParse(value);
  if (full.success) return { success: true, data: serverOf(full.data) };
  const partial = partialSchema.safeParse(value);
  return partial.success ? partial : full;
}

/**
 * Returns whether a server, as Nova shows it, belongs to another project. False if Nova does not name its project.
 * @param project id of the own project; undefined: not known.
 */
export function isForeign(value: unknown, project: string | undefined): boolean {
  if (project === undefined) return false;
  return (projectSchema.safeParse(value).data?.tenant_id ?? project) !== project;
}

/** Returns the id of a server with an unexpected form; undefined if it has no valid id. */
export function onlyId(value: unknown): UnknownServer | undefined {
  return onlyIdSchema.safeParse(value).data;
}

function serverOf(full: z.infer<typeof fullSchema>): Server {
  const { id, name, description, metadata, tags, flavor, addresses, image } = full;
  const volumes = full['os-extended-volumes:volumes_attached'];
  const task = full['OS-EXT-STS:task_state'];
  const macs = Object.values(addresses).flatMap((ports) =>
    ports.flatMap(({ 'OS-EXT-IPS-MAC:mac_addr': mac }) => (mac === undefined ? [] : [mac])),
  );
  return {
    id,
    name: plainName(name),
    description: description === null || description === undefined ? null : shortLine(description),
    metadata,
    tags,
    flavor: {
      name: flavor.original_name,
      vcpus: flavor.vcpus,
      ramMiB: flavor.ram,
      diskGiB: flavor.disk,
      ephemeralGiB: flavor.ephemeral,
      swapMiB: flavor.swap,
      secureBoot: flavor.extra_specs['os:secure_boot'],
    },
    fault: parseFault(full),
    imageId: typeof image === 'object' && image !== null ? image.id : null,
    volumeIds: volumes
      .map((volume) => volume.id)
      .filter((volume) => volumeId.test(volume))
      .slice(0, MAX_VOLUMES),
    // A port has an entry for each of its addresses.
    macs: [...new Set(macs)].slice(0, MAX_PORTS),
    task: task === null ? null : shortLine(task),
    vmState: shortLine(full['OS-EXT-STS:vm_state']),
    powerState: full['OS-EXT-STS:power_state'],
  };
}

/**
 * Returns the fault of a server in the state ERROR; null in all other states. In some versions, Nova still
 * shows the fault after the server has left this state.
 */
function parseFault({
  fault,
  'OS-EXT-STS:vm_state': vmState,
}: Pick<z.infer<typeof fullSchema>, 'fault' | 'OS-EXT-STS:vm_state'>): MachineFault | null {
  if (fault === undefined || fault === null || vmState !== 'error') return null;
  return { message: shortLine(fault.message), at: cloudTime(fault.created) };
}

/** Returns whether a server is deleted. With `changes-since`, Nova also lists deleted servers. */
export function isDeleted({ vmState }: Pick<Server, 'vmState'>): boolean {
  return vmState === 'deleted' || vmState === 'soft-delete' || vmState === 'soft_delete';
}
