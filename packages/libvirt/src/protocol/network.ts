/** Calls about virtual networks. */
import { array, bool, int, nothing, optional, string, struct, uint } from '../codec.js';
import { flags, hyperNumber } from './integer.js';
import { network, uuid } from './object.js';
import { PROGRAM } from './procedure.js';
import { procedures } from './table.js';

const networkOnly = struct({ network });

/** DHCP lease. `expirytime`: seconds since 1970; 0 means that the lease does not expire. */
const dhcpLease = struct({
  iface: string,
  expirytime: hyperNumber,
  type: int,
  mac: optional(string),
  iaid: optional(string),
  ipaddr: string,
  prefix: uint,
  hostname: optional(string),
  clientid: optional(string),
});

/** Calls about virtual networks, as in libvirt's remote_protocol.x. */
export const networkProcedures = procedures(PROGRAM.remote, 'network', {
  lookupByName: { number: 46, args: struct({ name: string }), result: network },
  lookupByUuid: { number: 47, args: struct({ uuid }), result: network },
  create: { number: 39, args: networkOnly, result: nothing },
  createXml: { number: 40, args: struct({ xml: string }), result: network },
  defineXml: { number: 41, args: struct({ xml: string }), result: network },
  destroy: { number: 42, args: networkOnly, result: nothing },
  undefine: { number: 49, args: networkOnly, result: nothing },
  getXmlDesc: { number: 43, args: struct({ network, flags }), result: string },
  getBridgeName: { number: 45, args: networkOnly, result: string },
  getAutostart: { number: 44, args: networkOnly, result: bool },
  setAutostart: { number: 48, args: struct({ network, autostart: bool }), result: nothing },
  isActive: { number: 152, args: networkOnly, result: bool },
  isPersistent: { number: 153, args: networkOnly, result: bool },
  getDhcpLeases: {
    number: 341,
    args: struct({ network, mac: optional(string), needResults: int, flags }),
    result: struct({ leases: array(dhcpLease), count: uint }),
  },
});
