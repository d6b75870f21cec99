/** Compares the versions of libvirt and QEMU with the tested ones. */
import { note, warning, type Finding } from '../../../findings/finding.js';
import type { ExaminedHost } from './examined-host.js';

/** Versions in libvirt's format: major * 1,000,000 + minor * 1,000 + release. */
interface HostVersions {
  readonly libvirt: number;
  /** Null: libvirt reports none. */
  readonly qemu: number | null;
}

/** The oldest versions that the tests use: those of Debian 12. */
const OLDEST = { libvirt: 9_000_000, qemu: 7_002_000 } as const;
/**
 * From this version on, some versions of QEMU may stop reading streamed images (see
 * docs/guides/libvirt-hosts.md).
 */
const STALLING_STREAMS = 10_000_000;

/** Returns a version as people write it, such as `9.0.0`. */
export const versionText = (version: number): string =>
  [Math.floor(version / 1_000_000), Math.floor(version / 1_000) % 1_000, version % 1_000].join('.');

/** Returns a finding for each version that is older than all tested ones, or that may have a known fault. */
export function examineVersions(versions: HostVersions, host: ExaminedHost): readonly Finding[] {
  const { libvirt, qemu } = versions;
  const findings: Finding[] = [];
  const upgrade = host.install({ debian: 'libvirt-daemon-system qemu-system', fedora: 'libvirt qemu-kvm' });
  const untested = (name: string, version: number, oldest: number): Finding =>
    warning(
      'version',
      `${name} ${versionText(version)} is older than ${versionText(oldest)}, the oldest tested version, so some requests may fail.`,
      upgrade,
    );
  if (libvirt < OLDEST.libvirt) findings.push(untested('libvirt', libvirt, OLDEST.libvirt));
  if (qemu === null) return findings;
  if (qemu < OLDEST.qemu) findings.push(untested('QEMU', qemu, OLDEST.qemu));
  if (qemu >= STALLING_STREAMS) {
    const message = `QEMU ${versionText(qemu)} may stop reading streamed images, so clients should use the transfer method Upload.`;
    findings.push(note('version', message));
  }
  return findings;
}
