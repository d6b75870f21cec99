/**
 * The JSON schemas of the served resources, and of the objects in `Oem`. Each member links to the schema
 * file, at DMTF or at this service.
 */
import { jsonSchemaPath, oemSchemas, oemTypeOf } from '../../redfish/documents/oem-schemas.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { Resource } from '../../redfish/resource.js';
import { renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';

const collectionUri = '/redfish/v1/JsonSchemas';

/** A schema: its id, its `@odata.type` and its file. */
interface Schema {
  /** For example `ComputerSystem.v1_27_0` or `ComputerSystemCollection`. */
  readonly id: string;
  readonly odataType: string;
  /** The URI of the file: at DMTF (`PublicationUri`), or at this service (`Uri`). */
  readonly location: { readonly PublicationUri: string } | { readonly Uri: string };
}

/**
 * Returns the two resources `JsonSchemas` and `JsonSchemas/{schemaId}`. The collection has a member for each
 * resource type, including the types of these two, and a member for each OEM schema.
 * @see DSP2046, JsonSchemaFile
 */
export function jsonSchemaResources(
  resources: readonly { readonly odataType: string }[],
): readonly Resource<Services>[] {
  const own = ['#JsonSchemaFileCollection.JsonSchemaFileCollection', '#JsonSchemaFile.v1_1_5.JsonSchemaFile'] as const;
  const types = new Set([...resources.map(({ odataType }) => odataType), ...own]);
  const idOf = (odataType: string): string => odataType.slice(1).split('.').slice(0, -1).join('.');
  const schemas: readonly Schema[] = [
    ...[...types].map((odataType) => {
      const id = idOf(odataType);
      // The same URI as in the Link header of a resource of this type.
      return { id, odataType, location: { PublicationUri: `http://redfish.dmtf.org/schemas/v1/${id}.json` } };
    }),
    ...oemSchemas.map((schema) => {
      const odataType = oemTypeOf(schema);
      return { id: idOf(odataType), odataType, location: { Uri: jsonSchemaPath(schema) } };
    }),
  ].sort((left, right) => (left.id < right.id ? -1 : 1));

  const collection = defineResource({
    entity: 'JsonSchemaFileCollection',
    odataType: own[0],
    uri: collectionUri,
    load: () => schemas,
    render: (all, { self }) =>
      renderCollection(
        'JSON Schema Collection',
        all.map(({ id }) => `${self}/${id}`),
      ),
  });

  const member = defineResource({
    entity: 'JsonSchemaFile',
    odataType: own[1],
    uri: '/redfish/v1/JsonSchemas/{schemaId}',
    load: ({ params }) => {
      const schema = schemas.find(({ id }) => id === params.schemaId);
      if (schema === undefined) throw redfishError('ResourceNotFound', 'JsonSchemaFile', params.schemaId);
      return schema;
    },
    render: ({ id, odataType, location }) => ({
      Id: id,
      Name: `Schema of ${id}`,
      Languages: ['en'],
      Schema: odataType,
      Location: [{ Language: 'en', ...location }],
    }),
  });
  return [collection, member];
}
