/** Paths that the configuration adds (`general_settings.forwarded_paths`). */
import { defineEndpoint, type Endpoint } from './endpoint.js';

/** Not a mode of LiteLLM: no configured model has it. */
const MODE = 'forwarded';

/**
 * Makes the endpoint of a configured path. It accepts a POST with a JSON object that has `model`,
 * and forwards it to the same path of the upstream. The proxy does not check its parameters.
 * @param path result of {@link parseForwardedPath}.
 */
export function forwardedEndpoint(path: string): Endpoint {
  return defineEndpoint({ path, mode: MODE, answersJson: false });
}

/**
 * Parses a configured path.
 * @returns the path below `api_base`: `fim/completions` for `/v1/fim/completions`. undefined: the
 *   path contains dots, escapes or a query. With these it could leave `api_base`, or the upstream
 *   could read it as another path.
 */
export function parseForwardedPath(path: string): string | undefined {
  const below = path.replace(/^\/?(?:v1(?:\/|$))?/, '');
  return below.split('/').every((segment) => /^[\w~-][\w.~:-]*$/.test(segment)) ? below : undefined;
}
