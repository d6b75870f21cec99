/**
 * Documents that are not resources: the versions, OData's service document and metadata, and the
 * OpenAPI document (DSP0266).
 */
import { jsonAnswer, stringify, textAnswer, type Answer } from '../answer.js';
import { csdlPath, oemSchemaFiles, oemSchemas } from './oem-schemas.js';
import { openApiDocument, type DeclaredPath } from './openapi.js';

/** A document of the protocol with its constant answer. */
export interface Document {
  readonly path: string;
  readonly answer: Answer;
}

const allow = { Allow: 'GET, HEAD' };

/** Creates the four documents of the protocol, and one document for each file of our schemas. */
export function createDocuments(resources: readonly DeclaredPath[]): readonly Document[] {
  return [
    // DSP0266, protocol version: exactly this value, with the slash.
    { path: '/redfish', answer: jsonAnswer(200, stringify({ v1: '/redfish/v1/' }), allow) },
    { path: '/redfish/v1/odata', answer: jsonAnswer(200, stringify(serviceDocument(resources)), allow) },
    {
      path: '/redfish/v1/$metadata',
      answer: textAnswer(200, metadata(resources), 'application/xml; charset=utf-8', allow),
    },
    {
      path: '/redfish/v1/openapi.yaml',
      answer: textAnswer(200, openApiDocument(resources), 'application/yaml', allow),
    },
    ...oemSchemaFiles(allow),
  ];
}

/** Lists the service root and the resources directly below it, each as a singleton. */
function serviceDocument(resources: readonly DeclaredPath[]) {
  const top = resources.flatMap(({ uri }) => {
    const name = /^\/redfish\/v1\/(\w+)$/.exec(uri)?.[1];
    return name === undefined ? [] : [{ name, kind: 'Singleton', url: uri }];
  });
  return {
    '@odata.context': '/redfish/v1/$metadata',
    value: [{ name: 'Service', kind: 'Singleton', url: '/redfish/v1/' }, ...top],
  };
}

/**
 * Returns the metadata: references to the schemas of all served types, and the entity container.
 * OData requires the container in the first Schema.
 */
function metadata(resources: readonly DeclaredPath[]): string {
  const namespaces = new Map<string, Set<string>>();
  for (const { odataType } of resources) {
    const [name = '', ...version] = odataType.slice(1).split('.').slice(0, -1);
    const included = namespaces.get(name) ?? new Set([name]);
    if (version.length > 0) included.add([name, ...version].join('.'));
    namespaces.set(name, included);
  }
  // Our container extends the container of ServiceRoot.v1_0_0, so the metadata must include this version.
  namespaces.set(
    'ServiceRoot',
    new Set(['ServiceRoot', 'ServiceRoot.v1_0_0', ...(namespaces.get('ServiceRoot') ?? [])]),
  );

  const references = [...namespaces]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, included]) =>
      reference(
        `http://redfish.dmtf.org/schemas/v1/${name}_v1.xml`,
        [...included].map((namespace) => `Namespace="${namespace}"`),
      ),
    );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">',
    ...references,
    ...oemSchemas.map((schema) =>
      reference(csdlPath(schema), [`Namespace="${schema.name}"`, `Namespace="${schema.name}.${schema.version}"`]),
    ),
    reference('http://redfish.dmtf.org/schemas/v1/RedfishExtensions_v1.xml', [
      'Namespace="RedfishExtensions.v1_0_0" Alias="Redfish"',
    ]),
    '  <edmx:DataServices>',
    '    <Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">',
    '      <EntityContainer Name="Service" Extends="ServiceRoot.v1_0_0.ServiceContainer"/>',
    '    </Schema>',
    '  </edmx:DataServices>',
    '</edmx:Edmx>',
    '',
  ].join('\n');
}

function reference(uri: string, includes: readonly string[]): string {
  return [
    `  <edmx:Reference Uri="${uri}">`,
    ...includes.map((attributes) => `    <edmx:Include ${attributes}/>`),
    '  </edmx:Reference>',
  ].join('\n');
}
