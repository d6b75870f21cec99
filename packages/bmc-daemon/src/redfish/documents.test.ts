import { describe, expect, it } from '@jest/globals';
import { createDocuments } from './documents.js';

const documents = createDocuments([
  { uri: '/redfish/v1', odataType: '#ServiceRoot.v1_20_0.ServiceRoot' },
  { uri: '/redfish/v1/Systems', odataType: '#ComputerSystemCollection.ComputerSystemCollection' },
  { uri: '/redfish/v1/Systems/{systemId}', odataType: '#ComputerSystem.v1_27_0.ComputerSystem' },
  { uri: '/redfish/v1/TaskService', odataType: '#TaskService.v1_3_0.TaskService' },
]);
const body = (path: string) => documents.find((document) => document.path === path)?.answer.body ?? '';

describe('createDocuments', () => {
  it('names the one version (B10)', () => {
    expect(JSON.parse(body('/redfish'))).toEqual({ v1: '/redfish/v1/' });
  });

  it('lists the service root and what stands below it in the service document (B10)', () => {
    expect(JSON.parse(body('/redfish/v1/odata'))).toEqual({
      '@odata.context': '/redfish/v1/$metadata',
      value: [
        { name: 'Service', kind: 'Singleton', url: '/redfish/v1/' },
        { name: 'Systems', kind: 'Singleton', url: '/redfish/v1/Systems' },
        { name: 'TaskService', kind: 'Singleton', url: '/redfish/v1/TaskService' },
      ],
    });
  });

  it('refers to the schema of each type that is served, once (B10)', () => {
    const metadata = body('/redfish/v1/$metadata');
    const uris = [...metadata.matchAll(/<edmx:Reference Uri="([^"]*)">/g)].map((match) => match[1]);
    expect(uris).toEqual(
      ['ComputerSystem', 'ComputerSystemCollection', 'ServiceRoot', 'TaskService', 'RedfishExtensions'].map(
        (name) => `http://redfish.dmtf.org/schemas/v1/${name}_v1.xml`,
      ),
    );
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
      'RedfishExtensions.v1_0_0',
    ]);
  });

  it('has the entity container in the first Schema, as OData wants it (B10)', () => {
    const [, firstSchema = ''] = body('/redfish/v1/$metadata').split(/<Schema [^>]*>/);
    expect(firstSchema).toContain('<EntityContainer Name="Service" Extends="ServiceRoot.v1_0_0.ServiceContainer"/>');
  });
});
