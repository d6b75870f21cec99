/** Opens the app of the service: creates the handlers of its requests from the features. */
import type { Log } from '@rackless/daemon/log/log.js';
import { createApp, type App, type AppOptions } from './app.js';
import type { SettingKey, Settings } from './config/settings.js';
import { streams, webSockets, type AllServices } from './features.js';
import { machineScoping } from './machine-scope.js';
import type { OpenedFeatures } from './opened-features.js';
import { withoutLogin } from './redfish/authenticate.js';
import type { Resource } from './redfish/resource.js';
import { currentUri } from './resources/current-uri.js';
import type { Offers } from './resources/services.js';
import { StartError } from './start-error.js';
import { version } from './version.js';

interface OpenAppOptions {
  /** The active settings. A reload changes this object. */
  readonly settings: Settings;
  /** The source of each setting, for messages. */
  readonly origins: Readonly<Record<SettingKey, string>>;
  readonly log: Log;
}

/**
 * Opens the app.
 * @param resources the served resources.
 * @throws {StartError} if the settings name a password file, and the daemon lacks the feature `accounts`.
 */
export function openApp(
  resources: readonly Resource<AllServices>[],
  features: OpenedFeatures,
  options: OpenAppOptions,
): App {
  const { services } = features;
  const { settings, log } = options;
  // A stream or WebSocket is available only if its resource is served.
  const isServed = ({ entity }: { readonly entity: string }): boolean =>
    resources.some((resource) => resource.entity === entity);
  return createApp<AllServices>({
    resources,
    streams: streams.filter(isServed),
    webSockets: webSockets.filter(isServed),
    services,
    scoping: machineScoping(features),
    onChange: features.onWrite,
    ...authenticationOf(services, options),
    strict: settings.dmtfStrict,
    currentUri: (uri) => currentUri(uri, settings),
    log,
    driver: services.driver,
    version,
  });
}

/** @throws {StartError} */
function authenticationOf(
  { access }: Offers,
  { settings, origins }: OpenAppOptions,
): Pick<AppOptions<AllServices>, 'authenticate' | 'watchIdentity'> {
  if (access !== null) return { authenticate: access.authenticate, watchIdentity: access.watchIdentity };
  if (settings.authFile === null) return { authenticate: withoutLogin };
  throw new StartError(`${origins.authFile}: EMULATOR_AUTH_FILE is set, and this build has no accounts`);
}
