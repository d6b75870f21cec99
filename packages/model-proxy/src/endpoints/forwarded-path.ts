/** Paths that the configuration adds (`general_settings.forwarded_paths`). */
import { defineEndpoint, type Endpoint } from './endpoint.js';

/** Not a mode of LiteLLM: no configured model has it. */
const MODE = 'forwarded';

/**
 * Makes the endpoint of a configured path. It takes a POST with a JSON object that has `model`,
 * goes to the same path of the upstream, and its parameters are not checked.
 * @param path result of {@link parseForwardedPath}.
 */
export function forwardedEndpoint(path: string): Endpoint {
  return defineEndpoint({ path, mode: MODE, answersJson: false });
}

/**
 * Parses a configured path.
 * @returns the path below `api_base`: `fim/completions` for `/v1/fim/completions`. undefined: the
 *   path contains dots, escapes or a query, with which it could lead out of `api_base`, or mean
 *   another path to the next server.
 */
export function parseForwardedPath(path: string): string | undefined {
  const below = path.replace(/^\/?(?:v1(?:\/|$))?/, '');
  return below.split('/').every((segment) => /^[\w~-][\w.~:-]*$/.test(segment)) ? below : undefined;
}
