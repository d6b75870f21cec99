/** Paths that the configuration adds (`general_settings.forwarded_paths`). */
import { defineEndpoint, type Endpoint } from './endpoint.js';

/** LiteLLM has no such mode, so no configured model has it. */
const MODE = 'forwarded';

/**
 * Makes the endpoint of a configured path. It accepts a POST with a JSON object that has `model`,
 * and forwards the object to the same path of the upstream. The proxy does not check the
 * parameters.
 * @param path result of {@link parseForwardedPath}.
 */
export function forwardedEndpoint(path: string): Endpoint {
  return defineEndpoint({ path, mode: MODE, answersJson: false });
}

/**
 * Parses a configured path.
 * @returns the path below `api_base`: `fim/completions` for `/v1/fim/completions`. undefined: a
 *   segment is empty or begins with `.` or `:`, or the path has characters other than letters, digits, `/` and
 *   `_~-.:`. Such a path could leave `api_base`, or the upstream could read another path.
 */
export function parseForwardedPath(path: string): string | undefined {
  const relativePath = path.replace(/^\/?(?:v1(?:\/|$))?/, '');
  return relativePath.split('/').every((segment) => /^[\w~-][\w.~:-]*$/.test(segment)) ? relativePath : undefined;
}
