/**
 * The messages of the ResourceEvent registry that the service sends, with our own texts. A test
 * compares keys, arguments and severities with DMTF's registry.
 * @see https://redfish.dmtf.org/registries/ResourceEvent.1.4.3.json
 */
import { eventMessage, none } from './event-message.js';

/** The first part of each `MessageId`: `<registry>.<key>`. */
export const resourceEventRegistry = 'ResourceEvent.1.4';

const critical = 'Examine the machine and its host.';

/** All messages that the service sends, by registry key. */
// prettier-ignore
export const resourceEventTable = {
  ResourceCreated: eventMessage('OK', [], 'A resource was created.', none),
  ResourceRemoved: eventMessage('OK', [], 'A resource was removed.', none),
  ResourceChanged: eventMessage('OK', [], 'A resource was changed.', none),
  ResourcePoweredOn: eventMessage('OK', ['string'], "'%1' was powered on.", none),
  ResourcePoweredOff: eventMessage('OK', ['string'], "'%1' was powered off.", none),
  ResourcePoweringOff: eventMessage('OK', ['string'], "'%1' is powering off.", none),
  ResourcePaused: eventMessage('OK', ['string'], "'%1' was paused.", none),
  ResourceStateChanged: eventMessage('OK', ['string', 'string'], "'%1' is now in the state %2.", none),
  ResourceStatusChangedOK: eventMessage('OK', ['string', 'string'], "The health of '%1' is now %2.", none),
  ResourceStatusChangedWarning: eventMessage('Warning', ['string', 'string'],
    "The health of '%1' is now %2.", critical),
  ResourceStatusChangedCritical: eventMessage('Critical', ['string', 'string'],
    "The health of '%1' is now %2.", critical),
  TestMessage: eventMessage('OK', [], 'A client requested this test event.', none),
} as const;
