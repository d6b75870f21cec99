import { describe, expect, it } from '@jest/globals';
import { createDocuments } from './documents.js';

const documents = createDocuments([
  { uri: '/redfish/v1', odataType: '#ServiceRoot.v1_20_0.ServiceRoot' },
  { uri: '/redfish/v1/Systems', odataType: '#ComputerSystemCollection.ComputerSystemCollection' },
  { uri: '/redfish/v1/Systems/{systemId}', odataType: '#ComputerSystem.v1_27_0.ComputerSystem' },
  { uri: '/redfish/v1/TaskService', odataType: '#TaskService.v1_3_0.TaskService' },
]);
const body = (path: string) => documents.find((document) => document.path === path)?.answer.body ?? '';

const dmtfSchemaUrl = (name: string): string => `http://redfish.dmtf.org/schemas/v1/${name}_v1.xml`;

describe('the set of documents', () => {
  it('lists the only version of the protocol', () => {
    expect(JSON.parse(body('/redfish'))).toEqual({ v1: '/redfish/v1/' });
  });

  it('lists the service root and the resources below it in the service document', () => {
    expect(JSON.parse(body('/redfish/v1/odata'))).toEqual({
      '@odata.context': '/redfish/v1/$metadata',
      value: [
        { name: 'Service', kind: 'Singleton', url: '/redfish/v1/' },
        { name: 'Systems', kind: 'Singleton', url: '/redfish/v1/Systems' },
        { name: 'TaskService', kind: 'Singleton', url: '/redfish/v1/TaskService' },
      ],
    });
  });

  it('refers once to the schema of each served type', () => {
    const metadata = body('/redfish/v1/$metadata');
    const uris = [...metadata.matchAll(/<edmx:Reference Uri="([^"]*)">/g)].map((match) => match[1]);
    expect(uris).toEqual([
      ...['ComputerSystem', 'ComputerSystemCollection', 'ServiceRoot', 'TaskService'].map(dmtfSchemaUrl),
      ...['RacklessAttributeRegistry', 'RacklessComputerSystem', 'RacklessVirtualMedia'].map(
        (name) => `/redfish/v1/Schemas/${name}_v1.xml`,
      ),
      dmtfSchemaUrl('RedfishExtensions'),
    ]);
    const namespaces = [...metadata.matchAll(/<edmx:Include Namespace="([^"]*)"/g)].map((match) => match[1]);
    expect(namespaces).toEqual([
      'ComputerSystem',
      'ComputerSystem.v1_27_0',
      'ComputerSystemCollection',
      'ServiceRoot',
      'ServiceRoot.v1_0_0',
      'ServiceRoot.v1_20_0',
      'TaskService',
      'TaskService.v1_3_0',
      'RacklessAttributeRegistry',
      'RacklessAttributeRegistry.v1_0_0',
      'RacklessComputerSystem',
      'RacklessComputerSystem.v1_0_0',
      'RacklessVirtualMedia',
      'RacklessVirtualMedia.v1_0_0',
      'RedfishExtensions.v1_0_0',
    ]);
  });

  it('has the files of our own schemas, in which CSDL and JSON describe the same type', () => {
    const files = [...body('/redfish/v1/$metadata').matchAll(/Uri="(\/[^"]*)"/g)].map(([, uri = '']) => uri);
    expect(files).toHaveLength(3);
    for (const file of files) {
      const xml = body(file);
      const [, namespace = '', type = ''] =
        /Namespace="([^"]*\.v[^"]*)">[^]*<ComplexType Name="([^"]*)"/.exec(xml) ?? [];
      const json = JSON.parse(body(`/redfish/v1/Schemas/${namespace}.json`)) as {
        readonly title: string;
        readonly definitions: Readonly<Record<string, { readonly properties: object }>>;
      }; // The service's own schemas have this form.
      const properties = [...xml.matchAll(/<Property Name="([^"]*)" Type="Edm.String"/g)].map(([, name]) => name);
      expect(properties.length).toBeGreaterThan(0);
      expect([json.title, Object.keys(json.definitions[type]?.properties ?? {})]).toEqual([
        `#${namespace}.${type}`,
        properties,
      ]);
      // A schema has either an action, or a type for an object in `Oem`.
      expect(xml.includes('BaseType="Resource.OemObject"')).toBe(!xml.includes('<Action '));
    }
  });

  it('has the OEM action that opens a console, with its response', () => {
    const xml = body('/redfish/v1/Schemas/RacklessComputerSystem_v1.xml');
    const [, unversioned = ''] = /Namespace="RacklessComputerSystem">([^]*?)<\/Schema>/.exec(xml) ?? [];
    expect(unversioned).toContain('<Action Name="OpenConsole" IsBound="true">');
    expect(unversioned).toContain('<Parameter Name="ComputerSystem" Type="ComputerSystem.v1_0_0.OemActions"/>');
    expect(unversioned).toContain('<ReturnType Type="RacklessComputerSystem.v1_0_0.OpenConsoleResponse"');
    const json = JSON.parse(body('/redfish/v1/Schemas/RacklessComputerSystem.v1_0_0.json')) as unknown;
    expect(json).toMatchObject({
      definitions: {
        OpenConsole: { actionResponse: { $ref: '#/definitions/OpenConsoleResponse' }, parameters: {} },
        OpenConsoleResponse: { properties: { Url: {}, Protocol: {}, Type: {} } },
      },
    });
  });

  it('has the entity container in the first Schema, as OData requires', () => {
    const [, firstSchema = ''] = body('/redfish/v1/$metadata').split(/<Schema [^>]*>/);
    expect(firstSchema).toContain('<EntityContainer Name="Service" Extends="ServiceRoot.v1_0_0.ServiceContainer"/>');
  });

  it('describes the methods, parameters and schema of each path in openapi.yaml, as JSON, which is also YAML', () => {
    const [openApi] = createDocuments([
      { uri: '/redfish/v1/Systems', odataType: '#ComputerSystemCollection.ComputerSystemCollection', post: {} },
      {
        uri: '/redfish/v1/Systems/{systemId}',
        odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
        patch: {},
        delete: () => undefined,
        actions: { '#ComputerSystem.Reset': {} },
      },
    ]).filter(({ path }) => path.endsWith('openapi.yaml'));
    expect(openApi?.answer.headers).toEqual(expect.arrayContaining(['Content-Type', 'application/yaml']));
    const schema = (name: string) => ({
      'application/json': { schema: { $ref: `http://redfish.dmtf.org/schemas/v1/${name}` } },
    });
    const requestBody = { content: { 'application/json': { schema: { type: 'object' } } } };
    const answers = (status: string, description: string, content?: object) => ({
      responses: {
        [status]: { description, ...(content && { content }) },
        default: { $ref: '#/components/responses/error' },
      },
    });
    const collection = schema(
      'ComputerSystemCollection.yaml#/components/schemas/ComputerSystemCollection_ComputerSystemCollection',
    );
    const system = schema('ComputerSystem.v1_27_0.yaml#/components/schemas/ComputerSystem_v1_27_0_ComputerSystem');
    const parameters = [{ name: 'systemId', in: 'path', required: true, schema: { type: 'string' } }];
    expect(JSON.parse(openApi?.answer.body ?? '')).toEqual({
      openapi: '3.0.3',
      info: { title: 'Redfish service', version: '1', description: 'The paths of this service' },
      paths: {
        '/redfish/v1/Systems': {
          get: answers('200', 'The resource', collection),
          post: { requestBody, ...answers('201', 'Created') },
        },
        '/redfish/v1/Systems/{systemId}': {
          parameters,
          get: answers('200', 'The resource', system),
          patch: { requestBody, ...answers('200', 'The resource', system) },
          delete: answers('204', 'Deleted'),
        },
        '/redfish/v1/Systems/{systemId}/Actions/ComputerSystem.Reset': {
          parameters,
          post: { requestBody, ...answers('204', 'Done') },
        },
      },
      components: {
        responses: {
          error: {
            description: 'Error',
            content: schema('redfish-error.v1_0_2.yaml#/components/schemas/RedfishError'),
          },
        },
      },
    });
  });
});
