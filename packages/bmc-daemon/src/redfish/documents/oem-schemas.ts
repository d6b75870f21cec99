/**
 * The schemas of the objects in `Oem.Rackless`, and of the actions in `Actions.Oem`. The service serves
 * the files itself, because no other place publishes them.
 * @see DSP0266, OEM property format; DSP2046, Resource.OemObject
 */
import { vendor } from '../../version.js';
import { jsonAnswer, stringify, textAnswer, type Answer } from '../answer.js';
import type { JsonObject } from '../json.js';

/** The texts that describe a property. */
interface OemProperty {
  readonly description: string;
  readonly longDescription: string;
}

/** The action whose response a schema describes. It has no parameters. */
interface OemAction {
  readonly name: string;
  /** The resource type of the action. */
  readonly resource: string;
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
  /** Absent: the type is that of an object in `Oem`. */
  readonly action?: OemAction;
}

/** The schema of the object in a virtual drive. */
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

/** The schema of the object in each setting of the service's attribute registry. */
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

/** The schema of the response of the action that opens a graphical console of a system. */
const computerSystem: OemSchema = {
  name: `${vendor}ComputerSystem`,
  version: 'v1_0_0',
  type: 'OpenConsoleResponse',
  description: 'The access to a graphical console of a system',
  properties: {
    Url: {
      description: 'The URL of the console.',
      longDescription: 'This property shall contain the URL of the console. It may hold a token that expires.',
    },
    Protocol: {
      description: 'The protocol of the console.',
      longDescription: 'This property shall contain the protocol of the console, such as vnc.',
    },
    Type: {
      description: 'The kind of the console.',
      longDescription: 'This property shall contain the kind of the console in the cloud, such as novnc.',
    },
  },
  action: {
    name: 'OpenConsole',
    resource: 'ComputerSystem',
    description: 'This action creates access to the graphical console.',
    longDescription: 'This action shall create access to the graphical console of the system for one client.',
  },
};

/** All schemas. */
export const oemSchemas: readonly OemSchema[] = [attributeRegistry, computerSystem, virtualMedia];

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

/** Returns two files for each schema: CSDL and JSON. @param headers additional headers of each answer. */
export function oemSchemaFiles(
  headers: Readonly<Record<string, string>>,
): readonly { readonly path: string; readonly answer: Answer }[] {
  return oemSchemas.flatMap((schema) => [
    { path: csdlPath(schema), answer: textAnswer(200, csdl(schema), 'application/xml; charset=utf-8', headers) },
    { path: jsonSchemaPath(schema), answer: jsonAnswer(200, stringify(jsonSchema(schema)), headers) },
  ]);
}

/** Returns the schema as CSDL. @see DSP0266, Schema definition languages: OData CSDL */
function csdl({ name, version, type, description, properties, action }: OemSchema): string {
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
  </edmx:Reference>${action === undefined ? '' : resourceReference(action)}
  <edmx:DataServices>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="${name}">
      <Annotation Term="Redfish.OwningEntity" String="${vendor}"/>${action === undefined ? '' : csdlAction(action, `${name}.${version}.${type}`)}
    </Schema>
    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="${name}.${version}">
      <Annotation Term="Redfish.OwningEntity" String="${vendor}"/>
      <ComplexType Name="${type}"${action === undefined ? ' BaseType="Resource.OemObject"' : ''}>
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

/** Returns the reference to the schema of the resource that has an action. */
function resourceReference({ resource }: OemAction): string {
  return `
  <edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/${resource}_v1.xml">
    <edmx:Include Namespace="${resource}"/>
    <edmx:Include Namespace="${resource}.v1_0_0"/>
  </edmx:Reference>`;
}

/** Returns the declaration of an action. @param response the type of its response. */
function csdlAction({ name, resource, description, longDescription }: OemAction, response: string): string {
  return `
      <Action Name="${name}" IsBound="true">
        <Parameter Name="${resource}" Type="${resource}.v1_0_0.OemActions"/>
        <ReturnType Type="${response}" Nullable="false"/>
        <Annotation Term="OData.Description" String="${description}"/>
        <Annotation Term="OData.LongDescription" String="${longDescription}"/>
      </Action>`;
}

/** The annotations that every object may have. */
const annotations = {
  '^([a-zA-Z_][a-zA-Z0-9_]*)?@(odata|Redfish|Message)\\.[a-zA-Z_][a-zA-Z0-9_]*$': {
    description: 'An annotation.',
    type: ['array', 'boolean', 'integer', 'number', 'null', 'object', 'string'],
  },
};

/** Returns the definition of an action. @param response the type of its response. */
function jsonAction({ description, longDescription }: OemAction, response: string): JsonObject {
  return {
    ...{ additionalProperties: false, description, longDescription, type: 'object' },
    actionResponse: { $ref: `#/definitions/${response}` },
    parameters: {},
    patternProperties: annotations,
    properties: {
      target: { description: 'Link to invoke the action.', format: 'uri-reference', type: 'string' },
      title: { description: 'Friendly action name.', type: 'string' },
    },
  };
}

/** Returns the schema as JSON Schema. @see DSP0266, Schema definition languages: JSON Schema */
function jsonSchema({ name, version, type, description, properties, action }: OemSchema): JsonObject {
  return {
    $id: jsonSchemaPath({ name, version }),
    ...(action === undefined ? { $ref: `#/definitions/${type}` } : {}),
    $schema: 'http://redfish.dmtf.org/schemas/v1/redfish-schema-v1.json',
    definitions: {
      ...(action === undefined ? {} : { [action.name]: jsonAction(action, type) }),
      [type]: {
        additionalProperties: false,
        description: `${description}.`,
        longDescription: `This type shall contain: ${description}.`,
        patternProperties: annotations,
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
