/**
 * Domain events: the calls that register them, and the messages that libvirtd sends. Each message
 * contains the id of its callback, because a connection may have several.
 */
import { type Codec, int, nothing, optional, string, struct } from '../codec.js';
import { hyperNumber, uhyperNumber } from './integer.js';
import { domain } from './object.js';
import { type EventProcedure, PROGRAM } from './procedure.js';
import { procedures } from './table.js';

/** Calls that register and deregister event callbacks. */
export const eventProcedures = procedures(PROGRAM.remote, 'connectDomainEvent', {
  callbackRegisterAny: { number: 316, args: struct({ eventId: int, domain: optional(domain) }), result: int },
  callbackDeregisterAny: { number: 317, args: struct({ callbackId: int }), result: nothing },
});

const event = <E>(name: string, number: number, codec: Codec<E>): EventProcedure<E> => ({
  name: `domainEvent${name}`,
  program: PROGRAM.remote,
  number,
  event: codec,
});

/** Event messages by kind. */
export const domainEvents = {
  lifecycle: event('Lifecycle', 318, struct({ callbackId: int, domain, event: int, detail: int })),
  reboot: event('Reboot', 319, struct({ callbackId: int, domain })),
  rtcChange: event('RtcChange', 320, struct({ callbackId: int, domain, utcOffsetSeconds: hyperNumber })),
  watchdog: event('Watchdog', 321, struct({ callbackId: int, domain, action: int })),
  diskChange: event(
    'DiskChange',
    327,
    struct({
      callbackId: int,
      domain,
      oldSourcePath: optional(string),
      newSourcePath: optional(string),
      deviceAlias: string,
      reason: int,
    }),
  ),
  trayChange: event('TrayChange', 328, struct({ callbackId: int, domain, deviceAlias: string, reason: int })),
  balloonChange: event('BalloonChange', 331, struct({ callbackId: int, domain, actualKiB: uhyperNumber })),
  deviceRemoved: event('DeviceRemoved', 333, struct({ callbackId: int, domain, deviceAlias: string })),
  blockJob: event('BlockJob2', 339, struct({ callbackId: int, domain, target: string, type: int, status: int })),
  agentLifecycle: event('AgentLifecycle', 348, struct({ callbackId: int, domain, state: int, reason: int })),
  deviceAdded: event('DeviceAdded', 354, struct({ callbackId: int, domain, deviceAlias: string })),
  metadataChange: event('MetadataChange', 379, struct({ callbackId: int, domain, type: int, nsUri: optional(string) })),
} as const;
