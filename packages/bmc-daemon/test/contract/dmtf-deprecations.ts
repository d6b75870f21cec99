/** Finds deprecated properties and URIs by DMTF's schemas, as the Service-Validator does. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Body } from './crawler.js';

/** The parts of a schema that this module reads. */
interface Definition {
  readonly deprecated?: string;
  readonly urisDeprecated?: readonly string[];
  readonly properties?: Readonly<Record<string, Definition>>;
  readonly items?: Definition;
  readonly anyOf?: readonly Definition[];
  readonly $ref?: string;
}
/** A definition, and the file that its references are relative to. */
interface Place {
  readonly file: string;
  readonly definition: Definition;
}

/**
 * Reads the schemas.
 * @param folder has `json-schema/`, like DSP8010.
 * @returns a function that gives `<path>` for each deprecated URI, and `<path> <property>` for each
 *   deprecated property. A type without a file has none.
 */
export function dmtfDeprecations(folder: string): (resource: Body) => readonly string[] {
  const files = new Map<string, Readonly<Record<string, Definition>>>();
  const definitionsOf = (file: string): Readonly<Record<string, Definition>> => {
    const known = files.get(file);
    if (known !== undefined) return known;
    const path = join(folder, 'json-schema', file);
    const read = existsSync(path)
      ? // DMTF publishes the file in this form.
        (JSON.parse(readFileSync(path, 'utf8')) as { readonly definitions: Readonly<Record<string, Definition>> })
      : { definitions: {} };
    files.set(file, read.definitions);
    return read.definitions;
  };

  /** Returns a definition and the definitions that it refers to. */
  const resolve = ({ file, definition }: Place): readonly Place[] => {
    const { $ref: reference, anyOf = [], items } = definition;
    const [other = '', pointer = ''] = reference?.split('#') ?? [];
    const target = other === '' ? file : basename(other);
    const named = reference === undefined ? undefined : definitionsOf(target)[basename(pointer)];
    return [
      { file, definition },
      ...(named === undefined ? [] : resolve({ file: target, definition: named })),
      ...anyOf.flatMap((one) => resolve({ file, definition: one })),
      ...(items === undefined ? [] : resolve({ file, definition: items })),
    ];
  };

  const propertiesIn = (value: unknown, places: readonly Place[]): readonly string[] => {
    if (Array.isArray(value)) return value.flatMap((item) => propertiesIn(item, places));
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, member]) => {
      const own = places.flatMap(({ file, definition }) => {
        const property = definition.properties?.[name];
        return property === undefined ? [] : [{ file, definition: property }];
      });
      const isDeprecated = own.some(({ definition }) => definition.deprecated !== undefined);
      return [...(isDeprecated ? [name] : []), ...propertiesIn(member, own.flatMap(resolve))];
    });
  };

  return (resource) => {
    const path = String(resource['@odata.id']);
    const [, schema = '', type = ''] = /^#(.+)\.(\w+)$/.exec(String(resource['@odata.type'])) ?? [];
    const { urisDeprecated: old = [] } = definitionsOf(`${type}.json`)[type] ?? {};
    const isOld = old.some((template) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(path));
    const definition = definitionsOf(`${schema}.json`)[type];
    const places = definition === undefined ? [] : resolve({ file: `${schema}.json`, definition });
    return [...(isOld ? [path] : []), ...propertiesIn(resource, places).map((name) => `${path} ${name}`)];
  };
}
