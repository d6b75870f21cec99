/**
 * Checks rules of DMTF's validators beyond JSON schemas: URIs, Ids, methods, and forbidden annotations
 * (the schemas allow any `@Redfish.*`).
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The JSON object of an answer. */
export type Body = Readonly<Record<string, unknown>>;

/** The rules of DMTF's validators. */
export interface DmtfRules {
  /**
   * Returns the faults of a resource.
   * @param allow methods of the Allow header.
   */
  faults(resource: Body, allow: readonly string[]): readonly string[];
}

/** The parts that this module reads from the schema of a type, for example `Chassis.json`. */
interface TypeDefinition {
  readonly uris?: readonly string[];
  readonly updatable?: boolean;
  readonly insertable?: boolean;
  readonly deletable?: boolean;
}
interface AnnotationSchema {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly patternProperties: Readonly<Record<string, unknown>>;
}

/**
 * Reads the rules.
 * @param folder has `json-schema/`, like DSP8010.
 */
export function dmtfRules(folder: string): DmtfRules {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(folder, 'json-schema', file), 'utf8'));
  // DMTF publishes the file in this form.
  const { properties, patternProperties } = read('redfish-payload-annotations.v1_3_0.json') as AnnotationSchema;
  const patterns = Object.keys(patternProperties).map((pattern) => new RegExp(pattern));
  const known = (name: string): boolean => name in properties || patterns.some((pattern) => pattern.test(name));

  const definitions = new Map<string, TypeDefinition | undefined>();
  const definitionOf = (type: string): TypeDefinition | undefined => {
    if (!definitions.has(type)) definitions.set(type, readDefinition(type));
    return definitions.get(type);
  };
  const readDefinition = (type: string): TypeDefinition | undefined => {
    if (!existsSync(join(folder, 'json-schema', `${type}.json`))) return undefined;
    // DMTF publishes the file in this form.
    const file = read(`${type}.json`) as { readonly definitions: Readonly<Record<string, TypeDefinition>> };
    return file.definitions[type];
  };

  return {
    faults(resource, allow) {
      const id = String(resource['@odata.id']);
      const type = /^#(\w+)\./.exec(String(resource['@odata.type']))?.[1] ?? '';
      const definition = definitionOf(type);
      if (definition === undefined) return [`${id}: there is no type ${type}`];
      const permitted: Readonly<Record<string, boolean | undefined>> = {
        PATCH: definition.updatable,
        POST: definition.insertable,
        DELETE: definition.deletable,
      };
      return [
        // A settings resource has the type of its subject (DSP0266, settings resource), but no URI
        // template. So the URI of the subject must match.
        ...(definition.uris?.some((template) => matches(template, id.replace(/\/Settings$/, ''))) === false
          ? [`${id}: no URI of a ${type}`]
          : []),
        ...allow.filter((method) => permitted[method] === false).map((method) => `${id}: a ${type} takes no ${method}`),
        ...annotationsIn(resource)
          .filter((name) => !known(name))
          .map((name) => `${id}: ${name} has no place in a payload`),
        ...(lastSegment(id) === resource['Id'] || !('Id' in resource) || id === '/redfish/v1'
          ? []
          : [`${id}: Id is not its last segment`]),
      ];
    },
  };
}

function lastSegment(uri: string): string | undefined {
  return uri.split('/').at(-1);
}

function matches(template: string, uri: string): boolean {
  const pattern = template.replace(/[.$]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`).test(uri);
}

function annotationsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(annotationsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    ...(name.includes('@') ? [name] : []),
    ...annotationsIn(member),
  ]);
}
