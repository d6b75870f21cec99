/** Attacks with requests that ordinary clients do not send: names, conditions, property values and bytes. */
import { crawl, root } from './tree.js';
import { exchange, firstStatus, statuses } from '../wire.js';
import { mutate } from '../random.js';

const nameAttack = {
  name: '__proto__ and other names of JavaScript, invalid escapes and a long name in URIs',
  expected: 'a GET gets no 2xx (except for the name `.`) and no 5xx, and an action of such a drive gets 404',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.bmc();
    const paths = [...(await crawl(daemon, { max: 60 })).keys()].filter((path) => path !== root);
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      '..%2f..',
      '%00',
      '%ff',
      '%',
      '.',
      'x'.repeat(4000),
    ];
    for (const path of arena.random.shuffle(paths).slice(0, arena.rounds(15, 60))) {
      for (const name of names) {
        const target = `${path.slice(0, path.lastIndexOf('/'))}/${name}`;
        const { status } = await daemon.request({ path: target });
        if (status < 300 && name !== '.') throw new Error(`GET ${target}: ${status}`);
        if (status >= 500) throw new Error(`GET ${target}: ${status}`);
      }
    }
    const { json } = await daemon.request({ path: `${root}/Managers` });
    const manager = json.Members[0]['@odata.id'];
    for (const name of names.slice(0, 4)) {
      for (const action of ['InsertMedia', 'EjectMedia']) {
        const path = `${manager}/VirtualMedia/${name}/Actions/VirtualMedia.${action}`;
        const { status } = await daemon.request({ method: 'POST', path, body: { Image: 'http://127.0.0.1:9/x' } });
        if (status !== 404) throw new Error(`POST ${path}: ${status}`);
      }
    }
  },
};

const preconditionAttack = {
  name: 'If-Match of another resource on POST, PATCH and DELETE',
  expected: 'POST succeeds; PATCH and DELETE get 412 and change nothing',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.bmc();
    const etag = async (path) => ({ 'If-Match': (await daemon.request({ path })).headers.etag });
    const expect = async (what, status, options) => {
      const answer = await daemon.request(options);
      if (answer.status !== status) throw new Error(`${what}: ${answer.status}, not ${status}`);
      return answer;
    };
    const path = `${root}/EventService/Subscriptions`;
    const system = (await daemon.request({ path: `${root}/Systems` })).json.Members[0]['@odata.id'];
    const body = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish' };
    const post = { method: 'POST', path, body, headers: await etag(path) };
    const { headers } = await expect('POST with the ETag of its collection', 201, post);
    const foreign = await etag(root);
    const reset = { method: 'POST', path: `${system}/Actions/ComputerSystem.Reset`, body: { ResetType: 'ForceOff' } };
    await expect('action with the ETag of another resource', 204, { ...reset, headers: foreign });
    await expect('PATCH', 412, { method: 'PATCH', path: system, body: { AssetTag: 'foreign' }, headers: foreign });
    if ((await daemon.request({ path: system })).json.AssetTag === 'foreign') throw new Error('PATCH changed AssetTag');
    const created = new URL(headers.location, 'http://x').pathname;
    await expect('DELETE', 412, { method: 'DELETE', path: created, headers: foreign });
    await expect('DELETE with its own ETag', 204, { method: 'DELETE', path: created, headers: await etag(created) });
  },
};

const atomicAttack = {
  name: 'a PATCH with one impossible property',
  expected: '4xx or 502, and neither AssetTag, the indicator nor Boot changes',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.bmc();
    const path = (await daemon.request({ path: `${root}/Systems` })).json.Members[1]['@odata.id'];
    const shown = async () => {
      const { json } = await daemon.request({ path });
      return JSON.stringify([json.AssetTag, json.IndicatorLED, json.LocationIndicatorActive, json.Boot]);
    };
    const before = await shown();
    const boot = {
      BootSourceOverrideMode: 'UEFI',
      BootSourceOverrideTarget: 'UefiHttp',
      HttpBootUri: 'http://127.0.0.1:1/x',
    };
    for (const part of [{ Boot: boot }, { Boot: { BootOrder: ['x'] } }, { Foo: 1 }, { Boot: { BootNext: 'none' } }]) {
      const body = { AssetTag: 'attack', IndicatorLED: 'Blinking', ...part };
      const { status } = await daemon.request({ method: 'PATCH', path, body });
      if (status < 400 || (status >= 500 && status !== 502)) throw new Error(`${JSON.stringify(part)}: ${status}`);
      if ((await shown()) !== before)
        throw new Error(`${JSON.stringify(part)}: ${status} and changed to ${await shown()}`);
    }
  },
};

const get = `GET ${root} HTTP/1.1\r\nHost: x\r\n`;
const offer = 'Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
const upgradeAttack = {
  name: 'malformed bytes after Connection: Upgrade',
  expected:
    '400, 405 or 501 and a close; of pipelined requests, each gets an answer, the last one 200, before the close',
  seconds: 60,
  run: async (arena) => {
    const { port } = await arena.bmc();
    const shapes = [
      ['malformed bytes', `${get}${offer}\0\0garbage\r\n\r\n`, [400, 501], 1],
      [
        'malformed body',
        `POST ${root} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${offer}zz\r\n`,
        [400, 405],
        1,
      ],
      ['pipelined request', `${get}${offer}${get}Connection: close\r\n\r\n`, [200], 2],
      ['200 offers', `${`${get}${offer}`.repeat(200)}${get}Connection: close\r\n\r\n`, [200], 201],
    ];
    for (const [name, bytes, expected, count] of shapes) {
      const { text, isClosed } = await exchange(port, bytes, { seconds: 20 });
      const seen = statuses(text);
      const last = seen.at(-1);
      if (!isClosed || seen.length !== count || !expected.includes(last)) {
        throw new Error(`${name}: ${isClosed ? 'closed' : 'left open'} after ${seen.length} answers, the last ${last}`);
      }
    }
  },
};

const mutationAttack = {
  name: 'mutated requests',
  expected: 'no answer with a 5xx except 501 and 505, and GETs meanwhile take at most 20 s',
  seconds: 60,
  run: async (arena) => {
    const daemon = await arena.bmc();
    const body = '{"AssetTag":"x","Boot":{"BootSourceOverrideTarget":"Pxe"}}';
    const path = (await daemon.request({ path: `${root}/Systems` })).json.Members[2]['@odata.id'];
    const requests = [
      `${get}Accept: */*\r\nConnection: close\r\n\r\n`,
      `GET ${root}/Systems?$filter=Id%20eq%20'x'&$top=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      `PATCH ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      `POST ${root}/SessionService/Sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic eDp5\r\nX-Auth-Token: x\r\nConnection: close\r\n\r\n`,
    ];
    const one = async () => {
      const bytes = mutate(arena.random.pick(requests), arena.random);
      // Does not wait long for the answer to an incomplete request.
      const { text } = await exchange(daemon.port, bytes, { seconds: 0.5, until: (got) => got.includes('\r\n\r\n') });
      const status = firstStatus(text);
      if (status >= 500 && ![501, 505].includes(status))
        throw new Error(`${status} for ${JSON.stringify(bytes.toString('latin1'))}`);
    };
    await daemon.attackWhileServing(20, async () => {
      for (let left = arena.rounds(15, 1500); left > 0; left -= 1) await Promise.all(Array.from({ length: 20 }, one));
    });
  },
};

export const requests = [nameAttack, preconditionAttack, atomicAttack, upgradeAttack, mutationAttack];
