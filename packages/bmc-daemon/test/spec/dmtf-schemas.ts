/** Validates answers with DMTF's JSON schemas from the folder in RACKLESS_REDFISH_SCHEMAS. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Ajv, type AnySchemaObject } from 'ajv';
import type { Body } from './spec-daemon.js';

/** Validation by DMTF's schemas. No fault means that the body is valid. */
export interface DmtfSchemas {
  /** Returns the faults of a resource by the schema that its `@odata.type` names. */
  faults(resource: Body): readonly string[];
  /** Returns the faults of an error body. */
  errorFaults(body: Body): readonly string[];
}

const formats = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  uri: (text: string) => URL.canParse(text),
  'uri-reference': (text: string) => URL.canParse(text, 'http://base.test'),
};

/**
 * Replaces the address in each `$id` and reference. In some of DMTF's files, a reference and the `$id` of its
 * target have different addresses.
 */
const base = 'http://schemas.test/';
const link = `${base}odata-v4.json#/definitions/idRef`;
const impossible = `${base}impossible`;

/**
 * Reads the schemas.
 * @param folder has `json-schema/`, like DSP8010.
 */
export function dmtfSchemas(folder: string): DmtfSchemas {
  // Ajv is not strict, because DMTF uses many additional keywords, such as longDescription and
  // versionAdded.
  const ajv = new Ajv({ strict: false, allErrors: true, formats, validateSchema: false });
  ajv.addSchema({ $id: impossible, not: {} });
  const texts = new Map<string, string | undefined>();
  const added = new Set<string>();

  const read = (file: string): string | undefined => {
    if (!texts.has(file)) {
      const path = join(folder, 'json-schema', file);
      texts.set(file, existsSync(path) ? readFileSync(path, 'utf8') : undefined);
    }
    return texts.get(file);
  };

  /**
   * Returns whether a definition is `X` in `X.json` and stands for a link to a resource. Such a
   * definition also allows the resource itself, but only log entries use that.
   */
  const isResource = (file: string, definition: string): boolean => {
    if (file !== `${definition}.json` || definition === 'LogEntry') return false;
    const text = read(file);
    return text === undefined || /"anyOf":\s*\[\s*\{\s*"\$ref":\s*"[^"]*#\/definitions\/idRef"/.test(text);
  };

  /**
   * Returns the target of a reference. A missing file without a version (`X.json`) counts as a link to a resource. Any
   * other missing file is an old version, which DMTF's bundle does not have: its target accepts no value.
   */
  const target = (uri: string, pointer: string): string => {
    const file = basename(uri);
    if (isResource(file, basename(pointer))) return link;
    return add(file) ? `${base}${file}#${pointer}` : impossible;
  };

  const add = (file: string): boolean => {
    if (added.has(file)) return true;
    const text = read(file);
    if (text === undefined) return false;
    added.add(file);
    const rewritten = text.replace(
      /"\$ref":\s*"(http[^"#]*)#([^"]*)"/g,
      (_, uri: string, pointer: string) => `"$ref":"${target(uri, pointer)}"`,
    );
    const schema = JSON.parse(rewritten) as AnySchemaObject; // DMTF's file has a schema.
    ajv.addSchema({ ...schema, $id: `${base}${file}` });
    return true;
  };

  const faultsOf = (file: string, definition: string, body: Body): readonly string[] => {
    if (!add('odata-v4.json') || !add(file)) return [`there is no schema ${file}`];
    const validate = ajv.getSchema(`${base}${file}#/definitions/${definition}`);
    if (validate === undefined) return [`there is no ${definition} in ${file}`];
    if (validate(body) === true) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    );
  };

  return {
    faults: (resource) => {
      const [, file = '', definition = ''] = /^#(.+)\.(\w+)$/.exec(String(resource['@odata.type'])) ?? [];
      return faultsOf(`${file}.json`, definition, resource);
    },
    errorFaults: (body) => faultsOf('redfish-error.v1_0_2.json', 'RedfishError', body),
  };
}
