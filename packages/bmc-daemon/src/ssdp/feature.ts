/** Discovery of the service by SSDP. The network protocols of managers show and change it. */
import type { Feature } from '../feature.js';
import { openDiscovery, type Discovery } from './discovery.js';

/** The feature `discovery`. Without it, SSDP is absent. */
export const discovery: Feature<{ readonly discovery: Discovery }> = {
  resources: [],
  open({ settings, stateDir, services, log }) {
    const opened = openDiscovery({ configured: settings.ssdp, stateDir, serviceUuid: services().serviceUuid, log });
    return {
      services: { discovery: opened },
      start: (listening) => opened.start(listening),
      stop: () => opened.close(),
    };
  },
};
