import { defineEndpoint, type Endpoint } from './endpoint.js';

/**
 * An endpoint for a path that the configuration opens (`general_settings.forwarded_paths`): a POST of JSON with a `model`. It goes to
 * the same path of the upstream, and the proxy checks no parameter.
 * @param path as the upstream gets it, below `api_base`.
 */
export function forwardedEndpoint(path: string): Endpoint {
  return defineEndpoint({ path, mode: OPENED, answersJson: false });
}

/** Mode of the paths that the configuration opens. */
const OPENED = 'opened';

/**
 * The path below `api_base` of a configured path: `fim/completions` for `/v1/fim/completions`.
 * @returns undefined: it could lead out of `api_base`, or means something else to the next server (dots, escapes, a query).
 */
export function parseForwardedPath(path: string): string | undefined {
  const below = path.replace(/^\/?(?:v1(?:\/|$))?/, '');
  return below.split('/').every((segment) => /^[\w~-][\w.~:-]*$/.test(segment)) ? below : undefined;
}
