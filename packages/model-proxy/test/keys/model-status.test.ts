/** Tests which models `/model/status` shows to virtual keys. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { deploymentAt } from '../support/app.js';
import { MASTER, serveKeys, type KeyedApp } from './fixture.js';

describe('/model/status', () => {
  let app: KeyedApp | undefined;
  afterEach(() => app?.close());

  it('shows a virtual key only its models, and rejects a wrong key', async () => {
    const names = ['public', 'other'];
    const served = await serveKeys({
      settings: {
        deployments: names.map((modelName) => deploymentAt('http://127.0.0.1:9/v1', { modelName, id: modelName })),
      },
    });
    app = served;
    const key = await served.create({ models: ['other'] });
    const seen = async (used: string): Promise<readonly string[]> => {
      const { data } = (await served.manage('GET', '/model/status', undefined, used)).json() as {
        readonly data: readonly { readonly model_name: string }[];
      }; // the proxy sends this object
      return data.map(({ model_name: name }) => name);
    };
    expect(await seen(key)).toEqual(['other']);
    expect(await seen(MASTER)).toEqual(names);
    expect((await served.manage('GET', '/model/status', undefined, 'sk-wrong')).status).toBe(401);
  });
});
