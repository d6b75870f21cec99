/** libvirt's capabilities of a host: `<capabilities>`. */
import { parseXml } from './xml/parse.js';
import { attribute, child, childElements, textOf } from './xml/tree.js';

/** Capabilities of a host. */
export interface HostCapabilities {
  /** Architecture of the host, such as `x86_64`; empty if libvirt reports none. */
  readonly architecture: string;
  /** Path of QEMU for this architecture; null if this QEMU is not installed. */
  readonly emulator: string | null;
  /** True if libvirt offers KVM for the architecture. */
  readonly hasKvm: boolean;
  /** Account of QEMU; null if libvirt does not change the account. */
  readonly qemuAccount: { readonly uid: number; readonly gid: number } | null;
}

/** Reads the answer of `virConnectGetCapabilities`. @throws {DriverError} internal, if it is not well-formed. */
export function readCapabilities(xml: string): HostCapabilities {
  const { root } = parseXml(xml);
  const host = child(root, 'host');
  const architecture = textOf(child(host, 'cpu', 'arch')) ?? '';
  const guest = childElements(root, 'guest')
    .map((each) => child(each, 'arch'))
    .find((arch) => attribute(arch, 'name') === architecture);
  const dac = childElements(host, 'secmodel').find((model) => textOf(child(model, 'model')) === 'dac');
  const [, uid, gid] = /^\+(\d+):\+(\d+)$/.exec(textOf(child(dac, 'baselabel')) ?? '') ?? [];
  return {
    architecture,
    emulator: textOf(child(guest, 'emulator')),
    hasKvm: childElements(guest, 'domain').some((domain) => attribute(domain, 'type') === 'kvm'),
    qemuAccount: uid === undefined ? null : { uid: Number(uid), gid: Number(gid) },
  };
}
