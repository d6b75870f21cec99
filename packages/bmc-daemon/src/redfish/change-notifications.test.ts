import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serve, type Client } from '../../test/support/client.js';
import { withoutLogin } from './authenticate.js';
import { redfishError } from './messages/errors.js';
import { createPipeline } from './pipeline.js';
import { resourceDefiner } from './resource.js';

const defineResource = resourceDefiner<null>();
const thing = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: ({ params }) => ({ id: params.systemId.toLowerCase() }),
  canonicalParams: ({ id }) => ({ systemId: id }),
  render: ({ id }) => ({ Id: id }),
  patch: {
    body: z.strictObject({
      AssetTag: z.string().optional(),
      IndicatorLED: z.string().optional(),
      Boot: z.strictObject({ HttpBootUri: z.string() }).optional(),
    }),
    loggedValues: ['IndicatorLED'],
    apply: (_entity, { AssetTag }) => {
      if (AssetTag === 'bad') throw redfishError('ResourceInUse');
      return undefined;
    },
  },
  delete: () => undefined,
  actions: {
    '#ComputerSystem.Reset': {
      body: z.strictObject({ ResetType: z.string() }),
      summary: ({ ResetType }) => ResetType,
      run: (_entity, { ResetType }) =>
        ResetType === 'Slow' ? { task: { monitor: '/m', task: '/redfish/v1/Systems/b' } } : undefined,
    },
    '#ComputerSystem.SetDefaultBootOrder': { body: z.strictObject({}), bodyOptional: true, run: () => undefined },
    '#ComputerSystem.Decommission': {
      body: z.strictObject({}),
      bodyOptional: true,
      summary: () => null,
      run: () => undefined,
    },
  },
});

describe('notifications of writes', () => {
  let client: Client;
  let notified: string[];

  beforeEach(async () => {
    notified = [];
    const pipeline = createPipeline({
      resources: [thing],
      services: null,
      authenticate: withoutLogin,
      strict: true,
      onChange: ({ kind, uri, detail, requester }) =>
        notified.push([kind, uri, detail ?? '-', requester.address].join(' | ')),
    });
    client = await serve((request, response) => void pipeline(request, response, '1'));
  });

  afterEach(() => client.close());

  const at = '/redfish/v1/Systems/A';
  const send = (method: string, path: string, body?: object) =>
    client.send(method, path, body === undefined ? {} : { body });

  it("contain the canonical URI, the client's address and the properties, without secret values", async () => {
    await send('PATCH', at, { AssetTag: 'secret', IndicatorLED: 'Lit', Boot: { HttpBootUri: 'http://u:p@h/' } });
    await send('POST', `${at}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
    await send('POST', `${at}/Actions/ComputerSystem.SetDefaultBootOrder`);
    await send('DELETE', at);
    expect(notified).toEqual([
      'changed | /redfish/v1/Systems/a | AssetTag, IndicatorLED Lit, Boot.HttpBootUri | 127.0.0.1',
      'changed | /redfish/v1/Systems/a | ComputerSystem.Reset ForceOff | 127.0.0.1',
      'changed | /redfish/v1/Systems/a | ComputerSystem.SetDefaultBootOrder | 127.0.0.1',
      'removed | /redfish/v1/Systems/a | - | 127.0.0.1',
    ]);
  });

  it('are not sent for reads, rejected requests, tasks and actions that change nothing', async () => {
    const answers = [
      await send('GET', at),
      await send('PATCH', at, { AssetTag: 'bad' }),
      await send('PATCH', at, { Nothing: 1 }),
      await send('POST', `${at}/Actions/ComputerSystem.Reset`, {}),
      await send('POST', `${at}/Actions/ComputerSystem.Reset`, { ResetType: 'Slow' }),
      await send('POST', `${at}/Actions/ComputerSystem.Decommission`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 409, 400, 400, 202, 204]);
    expect(notified).toEqual([]);
  });
});
