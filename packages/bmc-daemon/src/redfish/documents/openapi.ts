/**
 * The OpenAPI document of this service (DSP0266, OpenAPI schema): the URIs of its resources, attachments
 * and actions, with their methods except HEAD. It does not contain aliases of URIs, the URIs `…/Members`, streams,
 * WebSockets and uploads. For the bodies of answers, it refers to DMTF's published schemas; it does not describe
 * the bodies of requests.
 */
import type { JsonObject } from '../json.js';
import { actionUri } from '../resource.js';

/** The parts of a resource that the documents describe. */
export interface DeclaredPath {
  /** The URI template. */
  readonly uri: string;
  /** For example `#ComputerSystem.v1_27_0.ComputerSystem`. */
  readonly odataType: string;
  /** Present if the resource supports the method. */
  readonly post?: unknown;
  readonly patch?: unknown;
  readonly delete?: unknown;
  readonly attachment?: unknown;
  readonly actions?: Readonly<Record<string, unknown>>;
}

const errorSchema = 'http://redfish.dmtf.org/schemas/v1/redfish-error.v1_0_2.yaml#/components/schemas/RedfishError';

/** Returns the document as JSON, which is valid YAML 1.2. */
export function openApiDocument(resources: readonly DeclaredPath[]): string {
  return JSON.stringify(
    {
      openapi: '3.0.3',
      info: { title: 'Redfish service', version: '1', description: 'The paths of this service' },
      paths: Object.fromEntries(resources.flatMap(pathsOf)),
      components: {
        responses: { error: { description: 'Error', content: json(errorSchema) } },
      },
    },
    undefined,
    1,
  );
}

function pathsOf({
  uri,
  odataType,
  post,
  patch,
  delete: remove,
  attachment,
  actions = {},
}: DeclaredPath): readonly [string, JsonObject][] {
  const schema = schemaUri(odataType);
  const anything = { 'application/json': { schema: { type: 'object' } } };
  const own: JsonObject = {
    ...parametersOf(uri),
    get: operation('200', 'The resource', schema),
    ...(post === undefined ? {} : { post: { requestBody: { content: anything }, ...operation('201', 'Created') } }),
    ...(patch === undefined
      ? {}
      : { patch: { requestBody: { content: anything }, ...operation('200', 'The resource', schema) } }),
    ...(remove === undefined ? {} : { delete: operation('204', 'Deleted') }),
  };
  const ofActions = Object.keys(actions).map((name): [string, JsonObject] => [
    actionUri(uri, name),
    { ...parametersOf(uri), post: { requestBody: { content: anything }, ...operation('204', 'Done') } },
  ]);
  const ofAttachment: readonly [string, JsonObject][] =
    attachment === undefined
      ? []
      : [[`${uri}/attachment`, { ...parametersOf(uri), get: operation('200', 'The file') }]];
  return [[uri, own], ...ofAttachment, ...ofActions];
}

function operation(status: string, description: string, schema?: string): JsonObject {
  return {
    responses: {
      [status]: { description, ...(schema === undefined ? {} : { content: json(schema) }) },
      default: { $ref: '#/components/responses/error' },
    },
  };
}

function json(schema: string): JsonObject {
  return { 'application/json': { schema: { $ref: schema } } };
}

function parametersOf(uri: string): JsonObject {
  const names = [...uri.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return {};
  return { parameters: names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })) };
}

/**
 * Returns the URI of a DMTF schema: one file for each version; the type's name has underscores in
 * place of dots.
 */
function schemaUri(odataType: string): string {
  const parts = odataType.slice(1).split('.');
  const file = `http://redfish.dmtf.org/schemas/v1/${parts.slice(0, -1).join('.')}.yaml`;
  return `${file}#/components/schemas/${parts.join('_')}`;
}
