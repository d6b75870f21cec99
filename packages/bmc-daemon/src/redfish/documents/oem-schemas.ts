/**
 * The schemas of the objects in `Oem.Rackless`. The service serves the files itself, because no other
 * place publishes them.
 * @see DSP0266, OEM property format; DSP2046, Resource.OemObject
 */
import { vendor } from '../../version.js';
import { jsonAnswer, stringify, textAnswer, type Answer } from '../answer.js';
import type { JsonObject } from '../json.js';

/** A property with a text. */
interface OemProperty {
  readonly description: string;
  readonly longDescription: string;
}

/** The schema of one object. */
interface OemSchema {
  /** Name of the files and of the unversioned namespace: `RacklessVirtualMedia`. */
  readonly name: string;
  /** `v1_0_0`. */
  readonly version: string;
  readonly type: string;
  readonly description: string;
  /** All properties are read-only texts. */
  readonly properties: Readonly<Record<string, OemProperty>>;
}

/** The object of a virtual drive. */
const virtualMedia: OemSchema = {
  name: `${vendor}VirtualMedia`,
  version: 'v1_0_0',
  type: 'VirtualMedia',
  description: 'The upload of local images to a virtual drive',
  properties: {
    UploadURI: {
      description: 'The URI for uploads of an image.',
      longDescription: 'This property shall contain the URI at which the service creates uploads.',
    },
    UploadProtocol: {
      description: 'The protocol of the uploads.',
      longDescription: 'This property shall contain the name and the version of the protocol, such as tus-1.0.0.',
    },
  },
};

/** The object of a setting in the attribute registry of the service. */
const attributeRegistry: OemSchema = {
  name: `${vendor}AttributeRegistry`,
  version: 'v1_0_0',
  type: 'Attribute',
  description: 'The source of a setting of the service',
  properties: {
    Origin: {
      description: 'The source of the value.',
      longDescription:
        'This property shall contain the place of the setting: a file with a line, an environment variable, or an option.',
    },
  },
};

/** All schemas. */
export const oemSchemas: readonly OemSchema[] = [attributeRegistry, virtualMedia];

/** The values of `@odata.type` in `Oem.Rackless`. */
export const oemTypes = { attribute: oemTypeOf(attributeRegistry), virtualMedia: oemTypeOf(virtualMedia) } as const;

/** Returns the `@odata.type`, such as `#RacklessVirtualMedia.v1_0_0.VirtualMedia`. */
export function oemTypeOf({ name, version, type }: Pick<OemSchema, 'name' | 'version' | 'type'>): string {
  return `#${name}.${version}.${type}`;
}

/** Returns the path of the schema as CSDL. */
export function csdlPath({ name }: Pick<OemSchema, 'name'>): string {
  return `/redfish/v1/Schemas/${name}_v1.xml`;
}

/** Returns the path of the schema as JSON. */
export function jsonSchemaPath({ name, version }: Pick<OemSchema, 'name' | 'version'>): string {
  return `/redfish/v1/Schemas/${name}.${version}.json`;
}

/** Returns the files of all schemas. @param headers of each answer. */
export function oemSchemaFiles(
  headers: Readonly<Record<string, string>>,
): readonly { readonly path: string; readonly answer: Answer }[] {
  return oemSchemas.flatMap((schema) => [
    { path: csdlPath(schema), answer: textAnswer(200, csdl(schema), 'application/xml; charset=utf-8', headers) },
    { path: jsonSchemaPath(schema), answer: jsonAnswer(200, stringify(jsonSchema(schema)), headers) },
  ]);
}

/** @see DSP0266, Schema definition languages: OData CSDL */
function csdl({ name, version, type, description, properties }: OemSchema): string {
  const dmtf = 'http://redfish.dmtf.org/schemas/v1';
  return `<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">
  <edmx:Reference Uri="http://docs.oasis-open.org/odata/odata/v4.0/errata03/csd01/complete/vocabularies/Org.OData.Core.V1.xml">
    <edmx:Include Namespace="Org.OData.Core.V1" Alias="OData"/>
  </edmx:Reference>
  <edmx:Reference Uri="${dmtf}/RedfishExtensions_v1.xml">
    <edmx:Include Namespace="RedfishExtensions.v1_0_0" Alias="Redfish"/>
  </edmx:Reference>
  <edmx:Reference Uri="${dmtf}/Resource_v1.xml">
    <edmx:Include Namespace="Resource"/>
  </edmx:Reference>
  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="${name}">
      <Annotation Term="Redfish.OwningEntity" String="${vendor}"/>
    </Schema>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="${name}.${version}">
      <Annotation Term="Redfish.OwningEntity" String="${vendor}"/>
      <ComplexType Name="${type}" BaseType="Resource.OemObject">
        <Annotation Term="OData.AdditionalProperties" Bool="false"/>
        <Annotation Term="OData.Description" String="${description}."/>
        <Annotation Term="OData.LongDescription" String="This type shall contain: ${description}."/>
${Object.entries(properties)
  .map(
    ([property, texts]) => `        <Property Name="${property}" Type="Edm.String" Nullable="false">
          <Annotation Term="OData.Permissions" EnumMember="OData.Permission/Read"/>
          <Annotation Term="OData.Description" String="${texts.description}"/>
          <Annotation Term="OData.LongDescription" String="${texts.longDescription}"/>
        </Property>`,
  )
  .join('\n')}
      </ComplexType>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
`;
}

/** @see DSP0266, Schema definition languages: JSON Schema */
function jsonSchema({ name, version, type, description, properties }: OemSchema): JsonObject {
  return {
    $id: jsonSchemaPath({ name, version }),
    $ref: `#/definitions/${type}`,
    $schema: 'http://redfish.dmtf.org/schemas/v1/redfish-schema-v1.json',
    definitions: {
      [type]: {
        additionalProperties: false,
        description: `${description}.`,
        longDescription: `This type shall contain: ${description}.`,
        patternProperties: {
          '^([a-zA-Z_][a-zA-Z0-9_]*)?@(odata|Redfish|Message)\\.[a-zA-Z_][a-zA-Z0-9_]*$': {
            description: 'An annotation.',
            type: ['array', 'boolean', 'integer', 'number', 'null', 'object', 'string'],
          },
        },
        properties: Object.fromEntries(
          Object.entries(properties).map(([property, texts]) => [
            property,
            { ...texts, readonly: true, type: 'string' },
          ]),
        ),
        type: 'object',
      },
    },
    owningEntity: vendor,
    title: oemTypeOf({ name, version, type }),
  };
}
