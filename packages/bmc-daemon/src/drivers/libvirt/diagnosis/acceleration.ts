/** Examines QEMU and KVM of a host. */
import { readFileSync, statSync } from 'node:fs';
import { problem, warning, type Finding } from '../../../findings/finding.js';
import type { HostCapabilities } from '../host-capabilities.js';
import type { ExaminedHost } from './examined-host.js';

const SUBJECT = 'kvm';
const DEVICE = '/dev/kvm';
const SLOW = 'so guests are emulated, and boots take minutes';
const READ_WRITE = 0o6;

/** Permissions of a device, as `stat` reports them. */
interface Device {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns findings about QEMU itself and the access to the KVM device.
 * @param device undefined: there is none, or it is on another host. Default: the device of this
 *   host.
 */
export function examineAcceleration(
  capabilities: HostCapabilities,
  host: ExaminedHost,
  device = host.isLocal ? deviceOf(DEVICE) : undefined,
): readonly Finding[] {
  const { architecture, emulator, hasKvm } = capabilities;
  if (emulator === null) {
    const install = host.install({ debian: 'qemu-system', fedora: 'qemu-kvm', suse: 'qemu', arch: 'qemu-full' });
    const message = `libvirt finds no QEMU for ${architecture || 'this host'}, so no machine can start.`;
    return [problem('qemu', message, install)];
  }
  if (device !== undefined) return hasKvm ? deviceFindings(device, capabilities, host) : [unusableDevice(device, host)];
  if (hasKvm) return [];
  const load = host.asRoot('sh -c "modprobe kvm_intel || modprobe kvm_amd"');
  return [warning(SUBJECT, `The host does not offer KVM, ${SLOW}.`, load)];
}

/**
 * Examines whether QEMU may open the device. libvirt offers KVM if libvirt can open the device. QEMU can
 * run as another account, which may have no access.
 */
function deviceFindings(device: Device, { qemuAccount }: HostCapabilities, host: ExaminedHost): readonly Finding[] {
  if (qemuAccount === null || qemuAccount.uid === 0) return examineDevice(host, device);
  const { uid, gid } = qemuAccount;
  const groups = [gid, ...groupsOf(uid)];
  const isOwner = device.uid === uid;
  const bits = isOwner ? device.mode >> 6 : groups.includes(device.gid) ? device.mode >> 3 : device.mode;
  if ((bits & READ_WRITE) === READ_WRITE) return examineDevice(host, device);
  const message = `The account of QEMU (${uid}) may not open ${DEVICE}, so machines with KVM cannot start.`;
  return [problem(SUBJECT, message, permitCommand(host))];
}

/**
 * Returns a finding if neither the group nor all accounts may open the device. libvirt examines QEMU with
 * QEMU's unprivileged account, even if guests run as root. So with this finding, libvirt's examination fails.
 * @param device as for {@link examineAcceleration}.
 */
export function examineDevice(
  host: ExaminedHost,
  device = host.isLocal ? deviceOf(DEVICE) : undefined,
): readonly Finding[] {
  if (device === undefined) return [];
  if ((device.mode & 0o060) === 0o060 || (device.mode & READ_WRITE) === READ_WRITE) return [];
  const message =
    `Neither the group nor all accounts may open ${DEVICE} (mode ${(device.mode & 0o777).toString(8)}), ` +
    'so libvirt examines QEMU again and again, and changes of machines take up to a minute.';
  return [warning(SUBJECT, message, permitCommand(host))];
}

function unusableDevice(device: Device, host: ExaminedHost): Finding {
  const mode = (device.mode & 0o777).toString(8);
  return warning(SUBJECT, `libvirt cannot use ${DEVICE} (mode ${mode}), ${SLOW}.`, permitCommand(host));
}

const permitCommand = (host: ExaminedHost): string => host.asRoot(`sh -c "chgrp kvm ${DEVICE} && chmod 660 ${DEVICE}"`);

function deviceOf(file: string): Device | undefined {
  try {
    const found = statSync(file);
    return found.isCharacterDevice() ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the additional groups of an account of this host; none for an account that /etc/passwd lacks. */
function groupsOf(uid: number): readonly number[] {
  const fieldsOf = (file: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.split(':'));
  const name = fieldsOf('/etc/passwd').find((fields) => fields[2] === String(uid))?.[0];
  if (name === undefined) return [];
  return fieldsOf('/etc/group').flatMap(([, , gid, members]) =>
    members?.split(',').includes(name) ? [Number(gid)] : [],
  );
}
