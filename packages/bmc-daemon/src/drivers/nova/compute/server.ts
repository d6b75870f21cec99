/** Servers as Nova's API shows them. */
import { z } from 'zod';
import type { MachineFault } from '../../snapshot/system-snapshot.js';
import { plainLine } from '../http/plain-text.js';
import { cloudTime } from './action-records.js';

/** The address of a port. */
const addressSchema = z.object({ 'OS-EXT-IPS-MAC:mac_addr': z.string().optional() });

const fullSchema = z.object({
  id: z.string().toLowerCase(),
  name: z.string(),
  description: z.string().nullish(),
  status: z.string(),
  metadata: z.record(z.string(), z.string()).default({}),
  tags: z.array(z.string()).default([]),
  flavor: z.object({
    vcpus: z.number(),
    ram: z.number(),
    original_name: z.string(),
    disk: z.number().default(0),
    ephemeral: z.number().default(0),
    swap: z.number().default(0),
    // Absent if a policy of the cloud hides them.
    extra_specs: z.record(z.string(), z.string()).default({}),
  }),
  // An empty text: the server boots from a volume.
  image: z.union([z.object({ id: z.string() }), z.string()]).nullish(),
  'os-extended-volumes:volumes_attached': z.array(z.object({ id: z.string() })).default([]),
  addresses: z.record(z.string(), z.array(addressSchema)).default({}),
  // Only in the states ERROR and DELETED. `details` has the traceback, which is not for clients.
  fault: z.object({ message: z.string().default(''), created: z.string().default('') }).nullish(),
  'OS-EXT-STS:task_state': z.string().nullable(),
  'OS-EXT-STS:vm_state': z.string(),
  'OS-EXT-STS:power_state': z.number(),
});

/** Maximum number of volumes that the daemon shows. */
const MAX_VOLUMES = 128;
/** Ids become parts of URIs. */
const isId = /^[\w-]{1,64}$/;

/** The part of a server that Nova still knows while the server's cell is down. */
const partialSchema = z.object({ id: z.string().toLowerCase(), status: z.literal('UNKNOWN') });

/** The size of a server, as it was when the server was created or resized. */
interface Flavor {
  readonly name: string;
  readonly vcpus: number;
  readonly ramMiB: number;
  /** 0: the size of the image. */
  readonly diskGiB: number;
  readonly ephemeralGiB: number;
  readonly swapMiB: number;
  /** Undefined: none, or hidden from the project. */
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
  /** Null: it boots from a volume. */
  readonly imageId: string | null;
  /** Why it has the state ERROR, as far as Nova tells it. */
  readonly fault: MachineFault | null;
  /** Attached volumes of Cinder. */
  readonly volumeIds: readonly string[];
  /** MAC addresses of ports with an IP address, in lower case. */
  readonly macs: readonly string[];
  /** The running task, for example `powering-off`; null: none. */
  readonly task: string | null;
  /** `active`, `stopped`, `paused`, `suspended`, `rescued`, `error`, … */
  readonly vmState: string;
  /** 0 unknown, 1 running, 3 paused, 4 off, 6 crashed, 7 suspended. */
  readonly powerState: number;
}

/** A server whose cell does not answer: Nova knows its id only. */
export interface UnknownServer {
  readonly id: string;
}

/** Returns whether Nova shows the whole server. */
export function isKnown(server: Server | UnknownServer): server is Server {
  return 'vmState' in server;
}

/** Parses one server; undefined if its form is unexpected. */
export function parseServer(value: unknown): Server | UnknownServer | undefined {
  const full = fullSchema.safeParse(value);
  if (!full.success) return partialSchema.safeParse(value).data;
  const { id, name, description, metadata, tags, flavor, addresses, image } = full.data;
  const volumes = full.data['os-extended-volumes:volumes_attached'];
  const macs = Object.values(addresses).flatMap((ports) =>
    ports.flatMap(({ 'OS-EXT-IPS-MAC:mac_addr': mac }) => (mac === undefined ? [] : [mac.toLowerCase()])),
  );
  return {
    id,
    name,
    description: description ?? null,
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
    fault: parseFault(full.data),
    imageId: typeof image === 'object' && image !== null ? image.id : null,
    volumeIds: volumes
      .map((volume) => volume.id)
      .filter((volume) => isId.test(volume))
      .slice(0, MAX_VOLUMES),
    // A port has an entry for each of its addresses.
    macs: [...new Set(macs)],
    task: full.data['OS-EXT-STS:task_state'],
    vmState: full.data['OS-EXT-STS:vm_state'],
    powerState: full.data['OS-EXT-STS:power_state'],
  };
}

/** Nova shows an old fault also after the server has left the state ERROR in some versions. */
function parseFault({
  fault,
  'OS-EXT-STS:vm_state': vmState,
}: Pick<z.infer<typeof fullSchema>, 'fault' | 'OS-EXT-STS:vm_state'>): MachineFault | null {
  if (fault === undefined || fault === null || vmState !== 'error') return null;
  return { message: plainLine(fault.message), at: cloudTime(fault.created) };
}

/** Returns whether a server is deleted. Nova lists deleted servers together with changed ones. */
export function isDeleted({ vmState }: Pick<Server, 'vmState'>): boolean {
  return vmState === 'deleted' || vmState === 'soft-delete' || vmState === 'soft_delete';
}
