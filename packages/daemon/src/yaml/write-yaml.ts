/** Writes YAML. */
import { dump } from 'js-yaml';

/**
 * Returns a value as a YAML document, without `---`. Members whose value is undefined are left out.
 * Texts that YAML 1.1 or 1.2 would read as another type are quoted.
 */
export function writeYaml(value: object): string {
  return dump(value, { lineWidth: -1, noRefs: true, skipInvalid: true });
}
