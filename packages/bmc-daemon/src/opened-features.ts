/** Opens, starts and closes the features of the list together. */
import type { TlsOptions } from '@rackless/daemon/network/tls.js';
import { closeAfterFailure, closeInReverse } from '@rackless/daemon/process/close-all.js';
import type { FeatureContext, Listening, OpenFeature } from './feature.js';
import { featuresOf, type AllServices } from './features.js';
import type { ChangeListener } from './redfish/exchange.js';
import type { Offers, Services } from './resources/services.js';

/** The open features. */
export interface OpenedFeatures {
  /** The services of the daemon and of all open features. */
  readonly services: AllServices;
  /** Returns the features' services that show only one machine. */
  readonly forMachine: (uuid: string) => Partial<AllServices>;
  readonly onWrite: ChangeListener;
  /**
   * Starts the features, one after the other.
   * @param redfish the addresses of Redfish. Its `addAddress` adds an address for Redfish only. The features get
   *   another `addAddress`, which also adds the address for features with their own protocol.
   */
  start(redfish: Listening): Promise<void>;
  /**
   * Tells all features that the configuration was reloaded.
   * @param tls the certificate of HTTPS, if the service uses another one now.
   */
  reload(tls: TlsOptions | undefined): void;
  /** Stops all features at the same time. */
  stop(): Promise<void>;
  /** Closes the features in reverse order, also if one fails to close. Then rejects with the error. */
  close(): Promise<void>;
}

const noOffers: Offers = {
  access: null,
  telemetry: null,
  consoleSsh: null,
  webConsoles: null,
  consoleLogs: null,
  managerNetwork: null,
  screens: null,
  serverCertificate: null,
  discovery: null,
};

/**
 * Opens the features that the driver supports. If one fails, closes those that are open.
 * @throws {StartError}
 * @throws {StateFileError}
 */
export async function openFeatures(
  context: Omit<FeatureContext, 'services'>,
  daemon: Omit<Services, keyof Offers>,
): Promise<OpenedFeatures> {
  let services: Services = { ...daemon, ...noOffers };
  const opened: OpenFeature<object>[] = [];
  try {
    for (const feature of featuresOf(daemon.driver)) {
      const open = await feature.open({ ...context, services: () => services });
      opened.push(open);
      services = { ...services, ...open.services };
    }
  } catch (error) {
    await closeAfterFailure(opened, context.log);
    throw error;
  }
  const addAddress = async (redfish: Listening, address: string): Promise<() => void> => {
    const ends = [await redfish.addAddress(address)];
    for (const feature of opened) {
      const end = await feature.addAddress?.(address);
      if (end !== undefined) ends.push(end);
    }
    return () => ends.forEach((end) => end());
  };
  return {
    // TypeScript cannot follow the loop over the list. The services of a feature that the driver
    // does not support are missing, and so are the resources that would use them.
    services: services as AllServices,
    forMachine: (uuid) => opened.reduce((views, { forMachine }) => ({ ...views, ...forMachine?.(uuid) }), {}),
    onWrite: (change) => opened.forEach(({ onWrite }) => onWrite?.(change)),
    start: async (redfish) => {
      const listening = { ...redfish, addAddress: (address: string) => addAddress(redfish, address) };
      for (const feature of opened) await feature.start?.(listening);
    },
    reload: (tls) => opened.forEach(({ reload }) => reload?.(tls)),
    stop: async () => {
      await Promise.all(opened.map(async ({ stop }) => stop?.()));
    },
    close: () => closeInReverse(opened),
  };
}
