/** One libvirt host on which lab machines are created, and the machines that it has. */
import { ConnectListAllDomainsFlags, Hypervisor, isLibvirtError } from '@rackless/libvirt';
import { attempt, driverError, oneLine } from '../failure.js';
import { FirmwareChooser, type BootLoaderMap } from '../firmware/firmware-choice.js';
import type { SecureBootTemplates } from '../firmware-catalog.js';
import { localFiles, remoteFiles } from '../host-files.js';
import { isOnThisHost } from '../connection-uri.js';
import { readInactiveXml } from '../machine/definition.js';
import type { Machine } from '../machine/inventory.js';
import { DriverError, isDriverError } from '../../driver-error.js';
import type { HostRef } from '../../hosts-control.js';
import { readDomain, type Domain } from '../xml/domain.js';
import type { CreatedRecord } from '../xml/metadata/created-record.js';
import type { MachineRecord } from '../xml/metadata/machine-record.js';
import { readMetadata } from '../xml/metadata/metadata.js';
import { parseXml } from '../xml/parse.js';

/** Settings of the daemon that apply to new machines too. */
export interface LabSettings {
  /** Connection URI. */
  readonly uri: string;
  readonly bootLoaderMap: BootLoaderMap;
  readonly secureBootTemplates: SecureBootTemplates;
  /** EMULATOR_STORAGE_POOL; null: the daemon's own pool. */
  readonly storagePool: string | null;
  /** The other hosts of the settings. */
  readonly otherHosts: readonly HostRef[];
}

/** A connected host. */
export interface LabHost extends LabSettings {
  readonly hypervisor: Hypervisor;
  readonly firmware: FirmwareChooser;
  /** Timeout of a call that does no long work on the host. */
  readonly timeoutMs: number;
}

/** Maximum time for reading another host, which may be off. */
const OTHER_HOST_MS = 10_000;

/** A long timeout: libvirtd on a busy host needs seconds, and the user can press Ctrl-C. */
const TIMEOUT_MS = 60_000;

/**
 * Connects to a host. The caller closes the hypervisor.
 * @param signal ends the attempt.
 * @throws {DriverError} unavailable, if it does not answer; another kind for another error of the connection; {Error}
 *   AbortError after the signal.
 */
export async function openLabHost(settings: LabSettings, signal?: AbortSignal): Promise<LabHost> {
  const timeoutMs = TIMEOUT_MS;
  const options = { callTimeoutMs: timeoutMs, workTimeoutMs: timeoutMs, ...(signal === undefined ? {} : { signal }) };
  const hypervisor = await Hypervisor.open(settings.uri, options).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw connectionFailure(error);
  });
  const files = isOnThisHost(settings.uri) ? localFiles : remoteFiles(hypervisor, timeoutMs);
  const { bootLoaderMap, secureBootTemplates: templates } = settings;
  const firmware = new FirmwareChooser({ bootLoaderMap, templates, hypervisor, timeoutMs, files });
  return { ...settings, hypervisor, firmware, timeoutMs };
}

/** Converts the error of a connection. The text of NOT_CONNECTED already says `connecting to` and the URI. */
const connectionFailure = (error: unknown): DriverError =>
  isLibvirtError(error, 'NOT_CONNECTED')
    ? new DriverError('unavailable', oneLine(error.message), { cause: error })
    : driverError('connecting to libvirt', error);

/** Returns the UUIDs of the machines of all other hosts that answer. @throws {Error} AbortError after the signal. */
export type ReadOtherUuids = () => Promise<ReadonlySet<string>>;

/** Options of {@link withOtherUuids}. */
interface OtherUuidsOptions {
  /** Receives a sentence for each host whose machines cannot be read. */
  readonly onAdvice: (sentence: string) => void;
  /** Ends the wait for the hosts. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the machines of all other hosts while `work` runs. `work` can do other steps first, because a host that
 * is off takes up to ten seconds. When `work` ends, stops reading and closes the connections.
 * @throws the errors of `work`. A host that does not answer is no error: `onAdvice` receives it.
 */
export async function withOtherUuids<Result>(
  { otherHosts }: LabHost,
  { onAdvice, signal }: OtherUuidsOptions,
  work: (read: ReadOtherUuids) => Promise<Result>,
): Promise<Result> {
  const end = new AbortController();
  const signals = [end.signal, ...(signal === undefined ? [] : [signal])];
  const lists = Promise.all(
    otherHosts.map(async ({ name, uri }) => {
      try {
        return { name, uuids: await uuidsOf(uri, AbortSignal.any([...signals, AbortSignal.timeout(OTHER_HOST_MS)])) };
      } catch {
        return { name, uuids: null };
      }
    }),
  );
  const read = async (): Promise<ReadonlySet<string>> => {
    const found = await lists;
    signal?.throwIfAborted();
    for (const { name, uuids } of found)
      if (uuids === null)
        onAdvice(
          `host ${name} does not answer: if both hosts have the same host name, new machines can get UUIDs ` +
            `that ${name} already uses`,
        );
    return new Set(found.flatMap(({ uuids }) => uuids ?? []));
  };
  try {
    return await work(read);
  } finally {
    end.abort();
    await lists;
  }
}

async function uuidsOf(uri: string, signal: AbortSignal): Promise<readonly string[]> {
  const hypervisor = await Hypervisor.open(uri, { signal, connectTimeoutMs: OTHER_HOST_MS });
  try {
    return (await hypervisor.listAllDomains(0, { signal })).map(({ uuid }) => uuid);
  } finally {
    await hypervisor.close();
  }
}

/** A machine on the host. `bmc-daemon machine` or another program created it. */
export interface KnownMachine {
  readonly machine: Machine;
  readonly name: string;
  readonly uuid: string;
  /** The definition, with passwords. */
  readonly xml: string;
  readonly domain: Domain;
  readonly record: MachineRecord;
  /** Null if another program has created the machine, even if it copied the record of another machine. */
  readonly created: CreatedRecord | null;
}

/** A machine that `bmc-daemon machine` has created. */
export type OwnMachine = KnownMachine & { readonly created: CreatedRecord };

/** Returns whether `bmc-daemon machine` has created a machine. */
export const isOwn = (known: KnownMachine): known is OwnMachine => known.created !== null;

/** Reads all machines, sorted by name with numbers in order. @throws {DriverError} if libvirt fails. */
export async function readMachines({
  hypervisor,
  timeoutMs,
}: Pick<LabHost, 'hypervisor' | 'timeoutMs'>): Promise<readonly KnownMachine[]> {
  const [all, transient] = await attempt('listing the machines', () =>
    Promise.all([
      hypervisor.listAllDomains(0, { timeoutMs }),
      hypervisor.listAllDomains(ConnectListAllDomainsFlags.TRANSIENT, { timeoutMs }),
    ]),
  );
  const withoutDefinition = new Set(transient.map(({ uuid }) => uuid));
  const read = async (machine: Machine): Promise<KnownMachine | null> => {
    try {
      return knownMachine(machine, await readInactiveXml(machine, timeoutMs));
    } catch (error) {
      // Another client has deleted the machine meanwhile.
      if (isDriverError(error, 'notFound')) return null;
      throw error;
    }
  };
  const found = await Promise.all(
    all.map((domain) => {
      const { uuid, name } = domain;
      return read({ uuid, name, domain, persistent: !withoutDefinition.has(uuid) });
    }),
  );
  return found.filter((known) => known !== null).sort((a, b) => byName(a.name, b.name));
}

/** Orders names: `node-2` before `node-10`. */
const byName = new Intl.Collator('en', { numeric: true }).compare;

function knownMachine(machine: Machine, xml: string): KnownMachine {
  const document = parseXml(xml);
  const record = readMetadata(document);
  const created = record.created?.uuid === machine.uuid ? record.created : null;
  return { machine, name: machine.name, uuid: machine.uuid, xml, domain: readDomain(document), record, created };
}
