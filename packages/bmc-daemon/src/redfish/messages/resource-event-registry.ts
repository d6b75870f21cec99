/**
 * The messages of the ResourceEvent registry that the service uses in events and in `Status.Conditions`, with our
 * own texts. A test compares keys, arguments and severities with DMTF's registry.
 * @see https://redfish.dmtf.org/registries/ResourceEvent.1.4.3.json
 */
import { eventMessage, noAction } from './event-message.js';

/** The first part of each `MessageId`: `<registry>.<key>`. */
export const resourceEventRegistry = 'ResourceEvent.1.4';

const examineMachine = 'Examine the machine and its host.';

/** All messages that the service uses, by registry key. */
// prettier-ignore
export const resourceEventTable = {
  ResourceCreated: eventMessage('OK', [], 'A resource was created.', noAction),
  ResourceRemoved: eventMessage('OK', [], 'A resource was removed.', noAction),
  ResourceChanged: eventMessage('OK', [], 'A resource was changed.', noAction),
  ResourcePoweredOn: eventMessage('OK', ['string'], "'%1' was powered on.", noAction),
  ResourcePoweredOff: eventMessage('OK', ['string'], "'%1' was powered off.", noAction),
  ResourcePoweringOff: eventMessage('OK', ['string'], "'%1' is powering off.", noAction),
  ResourcePaused: eventMessage('OK', ['string'], "'%1' was paused.", noAction),
  ResourceStateChanged: eventMessage('OK', ['string', 'string'], "'%1' is now in the state %2.", noAction),
  ResourceStatusChangedOK: eventMessage('OK', ['string', 'string'], "The health of '%1' is now %2.", noAction),
  ResourceStatusChangedWarning: eventMessage('Warning', ['string', 'string'],
    "The health of '%1' is now %2.", examineMachine),
  ResourceStatusChangedCritical: eventMessage('Critical', ['string', 'string'],
    "The health of '%1' is now %2.", examineMachine),
  TestMessage: eventMessage('OK', [], 'A client requested this test event.', noAction),
} as const;
