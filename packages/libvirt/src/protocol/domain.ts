/** Calls about a domain. */
import { array, bool, hyper, int, nothing, optional, string, struct, uhyper, uint } from '../codec.js';
import { flags, hyperNumber, uhyperNumber } from './integer.js';
import { domain, uuid } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

const domainOnly = struct({ domain });
const domainFlags = struct({ domain, flags });
const device = struct({ domain, xml: string, flags });

/** Address of an interface; `type`: `IpAddrType`. */
const ipAddress = struct({ type: int, address: string, prefix: uint });

/** Calls about a domain, as in libvirt's remote_protocol.x. */
export const domainProcedures = procedures(PROGRAM.remote, 'domain', {
  lookupById: { number: 22, args: struct({ id: int }), result: domain },
  lookupByName: { number: 23, args: struct({ name: string }), result: domain },
  lookupByUuid: { number: 24, args: struct({ uuid }), result: domain },

  getXmlDesc: { number: 14, args: domainFlags, result: string },
  // XDR encodes char and short as four bytes.
  getInfo: {
    number: 16,
    args: domainOnly,
    result: struct({ state: uint, maxMem: uhyperNumber, memory: uhyperNumber, nrVirtCpu: uint, cpuTime: uhyper }),
  },
  getState: { number: 212, args: domainFlags, result: struct({ state: int, reason: int }) },
  isActive: { number: 150, args: domainOnly, result: bool },
  isPersistent: { number: 151, args: domainOnly, result: bool },
  isUpdated: { number: 202, args: domainOnly, result: bool },
  getAutostart: { number: 15, args: domainOnly, result: bool },
  setAutostart: { number: 29, args: struct({ domain, autostart: bool }), result: nothing },
  hasManagedSaveImage: { number: 183, args: domainFlags, result: bool },
  managedSaveRemove: { number: 184, args: domainFlags, result: nothing },
  managedSaveGetXmlDesc: { number: 388, args: domainFlags, result: string },

  defineXmlFlags: { number: 350, args: struct({ xml: string, flags }), result: domain },
  undefineFlags: { number: 231, args: domainFlags, result: nothing },
  createXml: { number: 10, args: struct({ xml: string, flags }), result: domain },
  createWithFlags: { number: 196, args: domainFlags, result: domain },

  suspend: { number: 34, args: domainOnly, result: nothing },
  resume: { number: 28, args: domainOnly, result: nothing },
  pmSuspendForDuration: {
    number: 261,
    args: struct({ domain, target: uint, duration: uhyper, flags }),
    result: nothing,
  },
  pmWakeup: { number: 267, args: domainFlags, result: nothing },
  shutdownFlags: { number: 258, args: domainFlags, result: nothing },
  reboot: { number: 27, args: domainFlags, result: nothing },
  reset: { number: 245, args: domainFlags, result: nothing },
  destroyFlags: { number: 234, args: domainFlags, result: nothing },
  injectNmi: { number: 210, args: domainFlags, result: nothing },

  attachDeviceFlags: { number: 160, args: device, result: nothing },
  detachDeviceFlags: { number: 161, args: device, result: nothing },
  updateDeviceFlags: { number: 174, args: device, result: nothing },

  setMetadata: {
    number: 264,
    args: struct({
      domain,
      type: int,
      metadata: optional(string),
      key: optional(string),
      uri: optional(string),
      flags,
    }),
    result: nothing,
  },
  getMetadata: { number: 265, args: struct({ domain, type: int, uri: optional(string), flags }), result: string },

  getBlockInfo: {
    number: 194,
    args: struct({ domain, path: string, flags }),
    result: struct({ allocation: uhyperNumber, capacity: uhyperNumber, physical: uhyperNumber }),
  },
  blockStats: {
    number: 64,
    args: struct({ domain, path: string }),
    result: struct({ rdReq: hyperNumber, rdBytes: hyper, wrReq: hyperNumber, wrBytes: hyper, errs: hyperNumber }),
  },
  interfaceAddresses: {
    number: 353,
    args: struct({ domain, source: uint, flags }),
    result: array(struct({ name: string, hwaddr: optional(string), addresses: array(ipAddress) })),
  },

  getHostname: { number: 277, args: domainFlags, result: string },

  openConsole: {
    number: 201,
    args: struct({ domain, deviceName: optional(string), flags }),
    result: nothing,
    stream: 'both',
  },
});
