/**
 * Lets each service of a cloud fail in several ways. Clients do not notice a failure of one request to the
 * cloud, and get 503 during a long failure.
 */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { sendJson, type NovaHandler } from '../support/cloud-server.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';

const answerWith =
  (status: number): NovaHandler =>
  (_request, response) =>
    void response.writeHead(status, { 'retry-after': '0' }).end('<h1>no</h1>');

const rejectedToken = answerWith(401);
const faults: Readonly<Record<string, NovaHandler>> = {
  'limits the rate': answerWith(429),
  'is overloaded': answerWith(503),
  'ends an answer in its middle': (_request, response) => {
    response.writeHead(200, { 'content-length': 5000 });
    response.write('{"', () => response.destroy());
  },
  'closes the connection': ({ socket }) => void socket.destroy(),
};
const silence: NovaHandler = () => undefined;

const cloud = servedCloud();
beforeEach(() => {
  // Each server has its own image or boot volume. So no cache has the image or volume, and the first read of each
  // server needs the service.
  for (let index = 1; index < 20; index += 1) {
    cloud.servers.put(index, { image: { id: `image-${index}` } });
    cloud.servers.put(index + 20, { image: '', 'os-extended-volumes:volumes_attached': [{ id: `v${index}` }] });
  }
  const volume = { name: 'root', size: 1, bootable: 'true', attachments: [] };
  cloud.api.others.set('image', (_request, response) => sendJson(response, 200, {}));
  cloud.api.others.set('volumev3', (_request, response) => sendJson(response, 200, { volume }));
});

/** A service of the cloud: its usual handler, and for each server a resource that needs the service. */
interface Part {
  readonly handler: NovaHandler;
  replace(handler: NovaHandler): void;
  /** Makes the next request of a client need the service. Absent if each GET of `pathOf` needs the service anyway. */
  require?(): void;
  pathOf(index: number): string;
}

const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const otherPart = (type: string, pathOf: Part['pathOf']): Part => ({
  handler: cloud.api.others.get(type) ?? silence,
  replace: (handler) => void cloud.api.others.set(type, handler),
  pathOf,
});
const parts: Readonly<Record<string, () => Part>> = {
  Nova: () => ({
    handler: cloud.api.nova,
    replace: (handler) => {
      cloud.api.nova = handler;
    },
    pathOf: systemOf,
  }),
  Keystone: () => {
    const { nova } = cloud.api;
    return {
      handler: cloud.api.keystone,
      replace: (handler) => {
        cloud.api.keystone = handler;
      },
      // The daemon requests a token only if Nova rejects the present token. So Nova rejects it once.
      require: () => {
        cloud.api.nova = (...request) => {
          cloud.api.nova = nova;
          rejectedToken(...request);
        };
      },
      pathOf: systemOf,
    };
  },
  Glance: () => otherPart('image', (index) => `${systemOf(index)}/Bios`),
  Cinder: () => otherPart('volumev3', (index) => `${systemOf(index + 20)}/Bios`),
};

describe.each(Object.keys(parts))('a failure of %s', (name) => {
  const partOf = (): Part => {
    const part = parts[name]?.();
    if (part === undefined) throw new Error(`there is no service ${name}`);
    return part;
  };

  it('is invisible to the client if it happens once', async () => {
    const { send } = await cloud.serve();
    const part = partOf();
    // Keystone has fewer faults here. A 401 of Keystone means wrong credentials, and the daemon does not retry a
    // request for a token that Keystone may have executed.
    const short = name === 'Keystone' ? [answerWith(429), answerWith(503)] : [rejectedToken, ...Object.values(faults)];
    for (const [index, fault] of short.entries()) {
      let isRepeated = false;
      part.replace((...request) => {
        part.replace((...next) => {
          isRepeated = true;
          part.handler(...next);
        });
        fault(...request);
      });
      part.require?.();
      expect([index, (await send('GET', part.pathOf(index + 1))).status, isRepeated]).toEqual([index, 200, true]);
    }
  });

  it.each(Object.entries(faults))('gives the client a 503 until the service recovers (it %s)', async (_, fault) => {
    const { send } = await cloud.serve();
    const part = partOf();
    part.replace(fault);
    part.require?.();
    const { status, body } = await send('GET', part.pathOf(1));
    expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining('ServiceTemporarilyUnavailable')]);
    expect((await send('GET', '/redfish/v1')).status).toBe(200);
    part.replace(part.handler);
    expect((await send('GET', part.pathOf(2))).status).toBe(200);
  });

  it('gives the client a 503 if the service does not answer', async () => {
    const { send } = await cloud.serve({ timeoutMs: 3000 });
    const part = partOf();
    part.replace(silence);
    part.require?.();
    const { status, body } = await send('GET', part.pathOf(1));
    expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining('ServiceTemporarilyUnavailable')]);
  });
});
