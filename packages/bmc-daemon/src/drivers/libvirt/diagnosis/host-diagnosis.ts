/** Examines one libvirt host for `bmc-daemon doctor`. */
import { withDeadline } from '@rackless/daemon/deadline.js';
import { Hypervisor, isLibvirtError } from '@rackless/libvirt';
import type { ConfigurationChange } from '../../../findings/commands.js';
import { problem, warning, type Finding } from '../../../findings/finding.js';
import type { HostAccount } from '../../../host/account.js';
import type { SecureBootTemplates } from '../firmware-catalog.js';
import { examineAcceleration, examineDevice } from './acceleration.js';
import { readCapabilities, type HostCapabilities } from '../host-capabilities.js';
import { examinedHost, type ExaminedHost } from './examined-host.js';
import { oneLine } from '../failure.js';
import { examineFirmware } from './firmware.js';
import { LIBVIRT_DAEMONS, libvirtService, localConnectionFinding } from './local-connection.js';
import { examineNetwork } from './network.js';
import { examinePool } from './pool.js';
import { remoteConnectionFinding } from './remote-connection.js';
import { examineVersions, versionText } from './versions.js';

/** The settings of a libvirt host. */
export interface HostDiagnosisOptions {
  readonly uri: string;
  /** EMULATOR_STORAGE_POOL; null: the daemon's default pool. */
  readonly storagePool: string | null;
  readonly templates: SecureBootTemplates;
  readonly account: HostAccount;
  /** Returns how to change the URI of this host in the configuration. */
  readonly changeUri: (uri: string) => ConfigurationChange;
  /** Time limit of the connection. The examinations after it have the same limit. */
  readonly timeoutMs: number;
}

/** The result of an examination. */
export interface HostDiagnosis {
  readonly findings: readonly Finding[];
  /** Version of libvirt, such as `9.0.0`; null if the host did not report it. */
  readonly libvirt: string | null;
  /** Version of QEMU; null if the host did not report it, and for another hypervisor driver than QEMU's. */
  readonly qemu: string | null;
}

/**
 * Examines a host. Ends within two times `timeoutMs`: one for the connection, one for all examinations. A
 * failure of the host is a finding, not an error.
 * @throws {LibvirtError} INVALID_URI.
 */
export async function diagnoseHost(options: HostDiagnosisOptions): Promise<HostDiagnosis> {
  const { uri, account, timeoutMs } = options;
  const host = examinedHost(uri, account, timeoutMs);
  const early = uriFindings(host, options.changeUri);
  const limits = { connectTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs };
  const hypervisor = Hypervisor.connect(uri, limits);
  try {
    const failure = await connectionFailure(hypervisor, host);
    if (failure !== null) return { findings: [failure, ...early], libvirt: null, qemu: null };
    const diagnosis = await examineConnected(hypervisor, host, options);
    return { ...diagnosis, findings: [...early, ...diagnosis.findings] };
  } finally {
    await hypervisor.close();
  }
}

async function connectionFailure(hypervisor: Hypervisor, host: ExaminedHost): Promise<Finding | null> {
  const { timeoutMs } = host;
  try {
    const connected = hypervisor.connected({ retry: false, timeoutMs }).then(() => null);
    return await withDeadline(connected, timeoutMs, () => silentHost(host));
  } catch (error) {
    return connectionFinding(error, host);
  }
}

/** Runs all examinations at the same time, so that a call without an answer delays no other call. */
async function examineConnected(
  hypervisor: Hypervisor,
  host: ExaminedHost,
  { storagePool, templates }: HostDiagnosisOptions,
): Promise<HostDiagnosis> {
  const { timeoutMs } = host;
  const call = { timeoutMs };
  const capabilities = hypervisor.getCapabilities(call).then(readCapabilities);
  const report = Promise.all([hypervisor.getLibVersion(call), hypervisor.getType(call)]).then(([libvirt, type]) => ({
    libvirt,
    type,
  }));
  // `qemu` resolves to null if there is no QEMU, or if libvirt does not report its version in time. A libvirt
  // that has just started answers late, because it first examines QEMU.
  const qemu = withDeadline(hypervisor.getVersion(call), timeoutMs, () => null).catch(() => null);
  const firmware = withQemu(report, capabilities, (found) =>
    examineFirmware(hypervisor, host, { capabilities: found, templates }),
  );
  const kvm = withQemu(report, capabilities, (found) => examineAcceleration(found, host));
  const network = withQemu(report, capabilities, () => examineNetwork(hypervisor, host));
  const findings = Promise.all([
    settled('network', network, host),
    settled('pool', examinePool(hypervisor, host, { configured: storagePool, capabilities }), host),
    // If libvirt is slow, examines the device alone: libvirt can be slow because only root may open
    // /dev/kvm.
    settled('kvm', kvm, host, () => examineDevice(host)),
    settled('firmware', firmware, host),
  ]);
  const known = await reported(report, host);
  if ('severity' in known) return { findings: [known], libvirt: null, qemu: null };
  const versions = { libvirt: known.libvirt, qemu: known.type === 'QEMU' ? await qemu : null };
  return {
    findings: [...examineVersions(versions, host), ...(await findings).flat().filter(isFirst)],
    libvirt: versionText(versions.libvirt),
    qemu: versions.qemu === null ? null : versionText(versions.qemu),
  };
}

/** The version and the hypervisor driver that libvirt reports. */
interface Libvirt {
  readonly libvirt: number;
  /** The name of the hypervisor driver, such as `QEMU` or `TEST`. */
  readonly type: string;
}

/** Returns the report, or a finding with the reason why there is none. */
async function reported(report: Promise<Libvirt>, host: ExaminedHost): Promise<Libvirt | Finding> {
  try {
    return await withDeadline(report, host.timeoutMs, () => silentHost(host));
  } catch (error) {
    return isLibvirtError(error, 'CALL_TIMEOUT') ? silentHost(host) : connectionFinding(error, host);
  }
}

/**
 * Runs an examination only for libvirt's QEMU driver: libvirt's test driver has neither firmware nor
 * KVM.
 */
async function withQemu(
  report: Promise<Libvirt>,
  capabilities: Promise<HostCapabilities>,
  examine: (capabilities: HostCapabilities) => readonly Finding[] | Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  const [{ type }, found] = await Promise.all([report, capabilities]);
  return type === 'QEMU' ? await examine(found) : [];
}

/**
 * Returns the findings of an examination. Converts a failure and a missing answer to a finding. Never rejects.
 * @param otherwise called if libvirt is too slow: returns additional findings that need no libvirt.
 */
async function settled(
  subject: string,
  work: Promise<readonly Finding[]>,
  host: ExaminedHost,
  otherwise: () => readonly Finding[] = () => [],
): Promise<readonly Finding[]> {
  try {
    return await withDeadline(work, host.timeoutMs, () => [...otherwise(), slowHost(host)]);
  } catch (error) {
    if (isLibvirtError(error, 'CALL_TIMEOUT')) return [...otherwise(), slowHost(host)];
    const message = `libvirt cannot report this part of the host: ${reasonOf(error)}.`;
    return [problem(subject, message, host.virsh('capabilities'))];
  }
}

/** Returns whether no earlier finding has the same message: several examinations can report that libvirt is slow. */
const isFirst = (finding: Finding, index: number, all: readonly Finding[]): boolean =>
  all.findIndex(({ message }) => message === finding.message) === index;

function connectionFinding(error: unknown, host: ExaminedHost): Finding {
  const whole = reasonOf(error);
  // Removes the URI, which the error names before the reason: parameters of the URI could match a pattern.
  const text = whole.split(`${host.uri}: `).at(-1) ?? whole;
  if (text.includes('no answer within')) return silentHost(host);
  const known = host.isLocal ? localConnectionFinding(error, host) : remoteConnectionFinding(text, host);
  return known ?? problem('libvirt', `${text}, so the daemon answers 503 for its machines.`, host.virsh('version'));
}

function silentHost(host: ExaminedHost): Finding {
  const message = `libvirt did not answer within ${host.timeoutMs / 1000} s, so requests for its machines get 503 after a wait.`;
  return problem('libvirt', message, restartCommand(host));
}

function slowHost(host: ExaminedHost): Finding {
  const message = `Some calls of libvirt take longer than ${host.timeoutMs / 1000} s, so changes of machines may get 503.`;
  return problem('libvirt', message, restartCommand(host));
}

function restartCommand(host: ExaminedHost): string {
  const installed = libvirtService(host);
  const services = installed === undefined ? LIBVIRT_DAEMONS : [installed];
  return host.asRoot(...services.map((service) => `systemctl restart ${service}`));
}

/** Returns findings about a URI whose connections are not protected. */
function uriFindings({ parsed, uri }: ExaminedHost, changeUri: HostDiagnosisOptions['changeUri']): readonly Finding[] {
  const { transport, parameters } = parsed;
  if (transport === 'tcp') {
    // libvirtd has another port for TLS, so the new URI has no port.
    const encrypted = uri.replace('+tcp:', '+tls:').replace(/^([^/]*\/\/[^/?]*):\d+(?=[/?]|$)/, '$1');
    const { command, advice } = changeUri(encrypted);
    const message = 'The connection has no encryption, so everyone in the network can control the machines.';
    return [warning('uri', message + advice, command)];
  }
  const isUnverified = parameters.noVerify || parameters.knownHostsVerify === 'ignore';
  if (!isUnverified) return [];
  const parameter = parameters.noVerify ? 'no_verify' : 'known_hosts_verify';
  const message = `The URI does not verify the host (${parameter}), so another host can take its place.`;
  const verified = uri.replace(new RegExp(`${parameter}=[^&]*&?`, 'i'), '').replace(/[?&]$/, '');
  const { command, advice } = changeUri(verified);
  return [warning('uri', message + advice, command)];
}

/** Returns the reason of an error in one line. */
const reasonOf = (error: unknown): string => oneLine(error instanceof Error ? error.message : String(error));
