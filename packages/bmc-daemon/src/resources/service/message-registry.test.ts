import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serve, type Client } from '../../../test/support/client.js';
import { testServices } from '../../../test/support/services.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { withoutLogin } from '../../redfish/authenticate.js';
import { createPipeline } from '../../redfish/pipeline.js';
import { jsonSchemaResources } from './json-schema.js';
import { messageRegistries, registryResources } from './message-registry.js';

const schemas = process.env['RACKLESS_REDFISH_SCHEMAS'];
const registryBody = z.object({
  RegistryPrefix: z.string(),
  RegistryVersion: z.string(),
  Messages: z.record(
    z.string(),
    z.object({ Message: z.string(), NumberOfArgs: z.number(), ParamTypes: z.array(z.string()).optional() }),
  ),
});
const collection = z.object({ Members: z.array(z.object({ '@odata.id': z.string() })) });
const member = z.object({
  Id: z.string(),
  Location: z.array(z.object({ Uri: z.string().optional(), PublicationUri: z.string().optional() })),
});

let client: Client;
beforeAll(async () => {
  const registries = registryResources(messageRegistries);
  const pipeline = createPipeline({
    resources: [...registries, ...jsonSchemaResources(registries)],
    services: testServices(new FakeDriver()),
    authenticate: withoutLogin,
    strict: true,
  });
  client = await serve((request, response) => void pipeline(request, response, 'r1'));
});
afterAll(() => client.close());

const membersOf = async (uri: string) => {
  const { Members } = collection.parse((await client.get(uri)).json);
  return Promise.all(Members.map(async (link) => member.parse((await client.get(link['@odata.id'])).json)));
};

describe('the registries', () => {
  it('are members of the collection Registries, each with the URIs of its file', async () => {
    expect(await membersOf('/redfish/v1/Registries')).toEqual(
      [
        ['Base.1.22', 'Base.1.22.1'],
        ['ResourceEvent.1.4', 'ResourceEvent.1.4.3'],
        ['TaskEvent.1.0', 'TaskEvent.1.0.5'],
      ].map(([Id, file]) => ({
        Id,
        Location: [
          {
            Uri: `/redfish/v1/Registries/${Id}/${file}.json`,
            PublicationUri: `https://redfish.dmtf.org/registries/${file}.json`,
          },
        ],
      })),
    );
  });

  it('have files with @odata.type and without @odata.id, which are not resources', async () => {
    const { status, json, headers } = await client.get('/redfish/v1/Registries/Base.1.22/Base.1.22.1.json');
    const { Messages, ...head } = json as { Messages: Readonly<Record<string, unknown>> };
    expect([status, headers.allow, head]).toEqual([
      200,
      'GET, HEAD',
      {
        '@odata.type': '#MessageRegistry.v1_7_0.MessageRegistry',
        Id: 'Base.1.22.1',
        Name: 'Base Message Registry',
        Description: 'The messages of the Base registry that this service sends, in its own words',
        Language: 'en',
        OwningEntity: 'DMTF',
        RegistryPrefix: 'Base',
        RegistryVersion: '1.22.1',
      },
    ]);
    expect(Messages['PropertyUnknown']).toEqual({
      Description: 'This resource has no property argument 1.',
      Message: 'This resource has no property %1.',
      MessageSeverity: 'Warning',
      NumberOfArgs: 1,
      ParamTypes: ['string'],
      Resolution: 'Leave the property out and send the request again.',
    });
    expect(Messages['Success']).not.toHaveProperty('ParamTypes');
  });

  it('answer 404 for an unknown registry; the JSON schemas answer 404 for a type that is not served', async () => {
    expect((await client.get('/redfish/v1/Registries/Base.1.1')).status).toBe(404);
    expect((await client.get('/redfish/v1/JsonSchemas/ComputerSystem')).status).toBe(404);
  });

  if (schemas === undefined && process.env['RACKLESS_REQUIRE_ALL'] !== '1') {
    it.skip('contain messages of DMTF: not tested without RACKLESS_REDFISH_SCHEMAS', () => undefined);
    return;
  }
  it.each(messageRegistries.map(({ id, body }) => [id, body] as const))(
    "contain only messages of DMTF's %s, with the same arguments and our own texts",
    (id, body) => {
      // With RACKLESS_REQUIRE_ALL a missing path fails the test instead of skipping it.
      const theirs = registryBody.parse(JSON.parse(readFileSync(join(schemas ?? '', `registries/${id}.json`), 'utf8')));
      const ours = registryBody.parse(body);
      expect([ours.RegistryPrefix, ours.RegistryVersion]).toEqual([theirs.RegistryPrefix, theirs.RegistryVersion]);
      for (const [key, { NumberOfArgs, ParamTypes = [], Message }] of Object.entries(ours.Messages)) {
        const original = theirs.Messages[key];
        expect([key, NumberOfArgs, ParamTypes]).toEqual([key, original?.NumberOfArgs, original?.ParamTypes ?? []]);
        expect(Message).not.toBe(original?.Message);
      }
    },
  );
});

describe('the JSON schemas', () => {
  it('have a member for each served type of DMTF, with the URI at which DMTF publishes the schema', async () => {
    const all = await membersOf('/redfish/v1/JsonSchemas');
    const uris = all.flatMap(({ Id, Location: [place] }) =>
      place?.PublicationUri === undefined ? [] : [[Id, place.PublicationUri]],
    );
    expect(uris).toEqual(
      [
        'JsonSchemaFile.v1_1_5',
        'JsonSchemaFileCollection',
        'MessageRegistry.v1_7_0',
        'MessageRegistryFile.v1_1_5',
        'MessageRegistryFileCollection',
      ].map((id) => [id, `http://redfish.dmtf.org/schemas/v1/${id}.json`]),
    );
  });

  it('have members for the objects and the action in Oem, with files that the service serves', async () => {
    const all = await membersOf('/redfish/v1/JsonSchemas');
    const own = all.flatMap(({ Id, Location: [place] }) => (place?.Uri === undefined ? [] : [[Id, place.Uri]]));
    expect(own).toEqual(
      ['RacklessAttributeRegistry.v1_0_0', 'RacklessComputerSystem.v1_0_0', 'RacklessVirtualMedia.v1_0_0'].map((id) => [
        id,
        `/redfish/v1/Schemas/${id}.json`,
      ]),
    );
    for (const [id, uri = ''] of own) {
      const { status, json } = await client.get(uri);
      expect([status, json]).toEqual([200, expect.objectContaining({ title: expect.stringContaining(`#${id}.`) })]);
    }
  });

  it('have the URI of the Link header of a resource', async () => {
    const { headers } = await client.get('/redfish/v1/Registries/Base.1.22');
    const [schema] = (await membersOf('/redfish/v1/JsonSchemas')).filter(
      ({ Id }) => Id === 'MessageRegistryFile.v1_1_5',
    );
    expect(headers['link']).toBe(`<${schema?.Location[0]?.PublicationUri ?? ''}>; rel=describedby`);
  });
});
