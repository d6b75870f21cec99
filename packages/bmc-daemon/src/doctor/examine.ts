/** Runs all probes at the same time, each with a time limit. */
import { withDeadline } from '@rackless/daemon/deadline.js';
import { readTextFile } from '@rackless/daemon/files/text-file.js';
import type { SettingKey } from '../config/settings.js';
import type { HostRef } from '../drivers/hosts-control.js';
import { CloudError } from '../drivers/nova/cloud/cloud-error.js';
import { commandLine } from '../findings/commands.js';
import { note, problem, type Finding } from '../findings/finding.js';
import { clientCertificates, serverCertificate } from './certificates.js';
import { clock } from './clock.js';
import { examineConfiguration } from './configuration.js';
import { libvirtFolder, secretFiles, stateFolder } from './files.js';
import { changeUri, libvirtHosts } from './libvirt-hosts.js';
import { consolePort, redfishPort } from './ports.js';
import type { Examined, Probe } from './probe.js';
import { imageServers, sharedStore } from './servers.js';

/** A finding with its host. */
export interface HostFinding extends Finding {
  /** Name of the libvirt host; null: the host of the daemon, or the cloud. */
  readonly host: string | null;
}

/** A libvirt host that was examined. */
interface ExaminedLibvirt extends HostRef {
  /** Versions such as `9.0.0`; null: unknown. */
  readonly libvirt: string | null;
  readonly qemu: string | null;
}

/** The result of all probes. */
export interface DoctorReport {
  /** Problems first, then warnings, then notes. */
  readonly findings: readonly HostFinding[];
  readonly hosts: readonly ExaminedLibvirt[];
  /** Name of the OpenStack cloud; null: none. */
  readonly cloud: string | null;
}

const probes: readonly Probe[] = [
  ...[redfishPort, consolePort, serverCertificate, clientCertificates, secretFiles],
  ...[stateFolder, libvirtFolder, clock, imageServers, sharedStore],
];

/** Examines the settings, this host, and the libvirt hosts or the cloud. Changes nothing. */
export async function examine(examined: Examined): Promise<DoctorReport> {
  const own: HostFinding[] = [...serviceAccount(examined), ...examineConfiguration(examined)].map(ofThisHost);
  const [local, machines] = await Promise.all([
    Promise.all(probes.filter((probe) => isKnown(examined, probe.settings)).map((probe) => runProbe(probe, examined))),
    examineMachines(examined),
  ]);
  const findings = [...own, ...local.flat().map(ofThisHost), ...machines.findings];
  const order = ['problem', 'warning', 'note'];
  return {
    ...machines,
    findings: findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity)),
  };
}

const ofThisHost = (finding: Finding): HostFinding => ({ host: null, ...finding });

const isKnown = ({ loaded }: Examined, keys: readonly SettingKey[]): boolean =>
  keys.every((key) => !loaded.unknown.has(key));

/**
 * Returns a note if root runs the doctor, because the account of the service has other permissions. Returns none
 * if there is no account bmc-daemon, or if the configuration file is not in a folder `bmc-daemon`.
 */
function serviceAccount({ account, file, loaded }: Examined): readonly Finding[] {
  if (account.uid !== 0 || loaded.settings.fakeDriver) return [];
  if (!/^bmc-daemon:/m.test(textOf('/etc/passwd')) || file?.includes('/bmc-daemon/') !== true) return [];
  const again = commandLine(...['sudo', '-u', 'bmc-daemon', 'bmc-daemon', 'doctor', '--config', file]);
  return [
    note('account', 'The doctor examined the permissions of root, and not those of the account bmc-daemon.', again),
  ];
}

function textOf(file: string): string {
  try {
    return readTextFile(file);
  } catch {
    return '';
  }
}

async function runProbe(probe: Probe, examined: Examined): Promise<readonly Finding[]> {
  const { subject } = probe;
  try {
    return await withDeadline(Promise.resolve(probe.examine(examined)), examined.timeoutMs, () => {
      const seconds = examined.timeoutMs / 1000;
      const message = `This part was not examined, because it took longer than ${seconds} s. The daemon may hang, too.`;
      return [problem(subject, message, commandLine('bmc-daemon', 'doctor', '--timeout', String(seconds * 4)))];
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [problem(subject, `This part cannot be examined: ${reason}.`, 'dmesg | tail')];
  }
}

/** Examines the libvirt hosts or the cloud. Loads their code only if it is necessary. */
async function examineMachines(examined: Examined): Promise<DoctorReport> {
  const { settings } = examined.loaded;
  const emptyReport: DoctorReport = { findings: [], hosts: [], cloud: null };
  if (!isKnown(examined, ['fakeDriver', 'osCloud', 'libvirtUri']) || settings.fakeDriver) return emptyReport;
  if (settings.osCloud !== null) return await examineCloud(settings.osCloud, examined);
  const { diagnoseHost } = await import('../drivers/libvirt/diagnosis/host-diagnosis.js');
  const diagnoses = await Promise.all(
    libvirtHosts(settings).map(async (host) => {
      const diagnosis = await diagnoseHost({
        uri: host.uri,
        storagePool: settings.storagePool,
        templates: { enabled: settings.secureBootEnabledNvram, disabled: settings.secureBootDisabledNvram },
        account: examined.account,
        changeUri: (uri) => changeUri(examined, host.uri, uri),
        timeoutMs: examined.timeoutMs,
      });
      return { ...host, ...diagnosis };
    }),
  );
  return {
    findings: diagnoses.flatMap(({ name, findings }) => findings.map((finding) => ({ host: name, ...finding }))),
    hosts: diagnoses.map(({ name, uri, libvirt, qemu }) => ({ name, uri, libvirt, qemu })),
    cloud: null,
  };
}

async function examineCloud(name: string, { environment, timeoutMs }: Examined): Promise<DoctorReport> {
  const { readCloud } = await import('../drivers/nova/cloud/cloud-settings.js');
  const { diagnoseCloud } = await import('../drivers/nova/diagnosis.js');
  try {
    const findings = await diagnoseCloud(readCloud(name, { environment, directory: process.cwd() }), timeoutMs);
    return { findings: findings.map(ofThisHost), hosts: [], cloud: name };
  } catch (error) {
    // The check of the configuration reports why the settings of the cloud cannot be read.
    if (error instanceof CloudError) return { findings: [], hosts: [], cloud: name };
    throw error;
  }
}
