/**
 * Tests the rules of DMTF's Protocol-Validator for HTTP, sessions, managers and events, one test per rule. Other tests
 * of this folder check the rules for accounts and those that hold for every resource.
 * docs/internals/conformance-rules.md lists all rules.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { certificatePem } from '../fixtures/certificate.js';
import { openStream, until } from '../events/event-lab.js';
import type { Received } from '../support/client.js';
import {
  accounts,
  administrator,
  at,
  bodyOf,
  linkIn,
  messagesOf,
  roles,
  root,
  sessions,
  startRuleService,
  type Body,
  type RuleService,
} from './rule-service.js';

let service: RuleService;
let machine: string;
let manager: string;

beforeAll(async () => {
  service = await startRuleService();
  [machine = ''] = await service.members(`${root}/Systems`);
  [manager = ''] = await service.members(`${root}/Managers`);
});
afterAll(() => service.close());

const basic = (user: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
const token = (value: string) => ({ 'X-Auth-Token': value });
const tokenOf = ({ headers }: Received) => token(String(headers['x-auth-token']));

describe('a POST that creates a resource', () => {
  const volumes = async (): Promise<string> => {
    const [storage = ''] = await service.members(`${machine}/Storage`);
    return `${storage}/Volumes`;
  };
  it.each<[string, () => Promise<string> | string, Body]>([
    ['a session', () => sessions, administrator],
    ['an account', () => accounts, { UserName: 'made', Password: 'made-of-words', RoleId: 'Operator' }],
    ['a role', () => roles, { RoleId: 'Watcher', AssignedPrivileges: ['Login'] }],
    [
      'a subscription',
      () => `${root}/EventService/Subscriptions`,
      { Destination: 'https://192.0.2.1/', Protocol: 'Redfish', Context: 'rules' },
    ],
    [
      'a certificate',
      () => `${machine}/VirtualMedia/Cd/Certificates`,
      { CertificateString: certificatePem, CertificateType: 'PEM' },
    ],
    ['a volume', volumes, { CapacityBytes: 2 ** 30 }],
  ])('returns 201 with the URI as Location and the new resource as the body: %s', async (_name, collection, body) => {
    const made = await service.ask('POST', await collection(), { body });
    expect([made.status, made.headers['content-type']]).toEqual([201, 'application/json; charset=utf-8']);
    const location = String(made.headers.location);
    expect(bodyOf(made)['@odata.id']).toBe(location);
    const { '@odata.type': type, Id } = await service.get(location);
    expect(bodyOf(made)).toMatchObject({ '@odata.type': type, Id });
  });
});

describe('an answer', () => {
  it('never sets a cookie', async () => {
    const answers = [
      await service.anonymous('GET', `${root}/`),
      await service.ask('GET', machine),
      await service.logIn(administrator.UserName, administrator.Password),
      await service.logIn(administrator.UserName, 'wrong'),
      await service.anonymous('GET', machine),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 401, 401]);
    for (const { headers } of answers) expect(headers).not.toHaveProperty('set-cookie');
  });

  it('with 401 has WWW-Authenticate and is a Redfish error, for every kind of wrong credentials', async () => {
    const rejected: readonly Received[] = [
      await service.anonymous('GET', machine),
      await service.anonymous('GET', `${root}/nothing/at/all`),
      await service.anonymous('GET', machine, { headers: { 'If-None-Match': '"x"' } }),
      await service.anonymous('DELETE', `${sessions}/1`),
      await service.anonymous('GET', machine, { headers: basic('admin', 'wrong') }),
      await service.anonymous('GET', machine, { headers: token('00'.repeat(32)) }),
      await service.logIn('nobody', 'anything'),
    ];
    for (const answer of rejected) {
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        401,
        'Basic realm="Rackless", charset="UTF-8"',
      ]);
      expect(messagesOf(answer)).toEqual(['AccessUnauthorized']);
    }
  });

  it('with 400, 401, 404, 405, 412, 415 or 501 is a Redfish error in JSON', async () => {
    const failed: readonly Received[] = [
      await service.ask('PATCH', machine, { body: { Bogus: 1 } }),
      await service.anonymous('GET', machine),
      await service.ask('GET', `${root}/Nowhere`),
      await service.ask('POST', machine, { body: {} }),
      await service.ask('PATCH', machine, { body: { AssetTag: 'x' }, headers: { 'If-Match': '"x"' } }),
      await service.ask('PATCH', machine, { body: '<x/>', headers: { 'Content-Type': 'text/xml' } }),
      await service.ask('GET', `${machine}?$bogus=1`),
    ];
    expect(failed.map(({ status }) => status)).toEqual([400, 401, 404, 405, 412, 415, 501]);
    for (const answer of failed) {
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      const { error } = bodyOf(answer) as { readonly error: Body }; // The next line checks the members.
      expect(Object.keys(error).sort()).toEqual(['@Message.ExtendedInfo', 'code', 'message']);
      expect(error['@Message.ExtendedInfo']).not.toHaveLength(0);
    }
  });
});

describe('a GET', () => {
  it.each([
    '*/*',
    'application/*',
    'application/json',
    'application/*;charset=utf-8',
    'application/json;charset=utf-8',
    'application/json; odata.metadata=full',
    undefined,
  ])('returns JSON for Accept: %s', async (accept) => {
    for (const path of [`${root}/`, machine]) {
      const answer = await service.ask('GET', path, { headers: accept === undefined ? {} : { Accept: accept } });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    }
  });

  it.each(['application/xml', 'application/*', '*/*', 'application/xml;charset=utf-8'])(
    'returns the metadata as XML for Accept: %s',
    async (accept) => {
      const answer = await service.anonymous('GET', `${root}/$metadata`, { headers: { Accept: accept } });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/xml; charset=utf-8']);
      expect(answer.text).toMatch(/^<\?xml/);
    },
  );

  it.each(['/openapi.yaml'])('returns the OpenAPI description as YAML: %s', async (path) => {
    const answer = await service.anonymous('GET', `${root}${path}`);
    expect([answer.status, answer.headers['content-type']?.split(';')[0]]).toEqual([200, 'application/yaml']);
  });

  it('ignores unknown query parameters, but returns 501 if they start with a dollar sign', async () => {
    const plain = await service.ask('GET', sessions);
    expect((await service.ask('GET', `${sessions}?x=1&rackless`)).json).toEqual(plain.json);
    const refused = await service.ask('GET', `${sessions}?$rackless=1`);
    expect([refused.status, ...messagesOf(refused)]).toEqual([501, 'QueryParameterUnsupported']);
  });

  it('gets 400 for a value of "only", and the service root does not offer "excerpt"', async () => {
    expect((await service.ask('GET', `${sessions}?only=foo`)).status).toBe(400);
    const features = at(await service.get(`${root}/`), 'ProtocolFeaturesSupported');
    expect(features).toMatchObject({ ExcerptQuery: false, OnlyMemberQuery: true });
  });

  it('supports the protocol features that the service root lists, and no others', async () => {
    const { ProtocolFeaturesSupported: features } = await service.get(`${root}/`);
    const asked: Readonly<Record<string, string>> = {
      FilterQuery: `${roles}?$filter=RoleId%20eq%20'Operator'`,
      SelectQuery: `${roles}?$select=Name`,
      OnlyMemberQuery: `${roles}?only`,
      TopSkipQuery: `${roles}?$top=1&$skip=1`,
      'ExpandQuery.ExpandAll': `${roles}?$expand=*`,
      'ExpandQuery.Links': `${roles}?$expand=~`,
      'ExpandQuery.NoLinks': `${roles}?$expand=.`,
      'ExpandQuery.Levels': `${roles}?$expand=.($levels=1)`,
    };
    for (const [feature, uri] of Object.entries(asked)) {
      expect([feature, (await service.ask('GET', uri)).status === 200]).toEqual([feature, at(features, feature)]);
    }
  });
});

describe('sessions', () => {
  it('have the same URI in the service root and in the session service', async () => {
    const fromRoot = linkIn(await service.get(`${root}/`), 'Links.Sessions');
    expect(linkIn(await service.get(`${root}/SessionService`), 'Sessions')).toBe(fromRoot);
  });

  it('are deleted with their own token, and not without credentials', async () => {
    const made = await service.logIn(administrator.UserName, administrator.Password);
    const uri = String(made.headers.location);
    expect((await service.anonymous('DELETE', uri)).status).toBe(401);
    const deleted = await service.anonymous('DELETE', uri, { headers: tokenOf(made) });
    expect([deleted.status, (await service.ask('GET', uri)).status]).toEqual([204, 404]);
    expect((await service.anonymous('GET', machine, { headers: tokenOf(made) })).status).toBe(401);
  });

  it('are created from JSON with a charset parameter', async () => {
    const made = await service.anonymous('POST', sessions, {
      body: JSON.stringify(administrator),
      headers: { 'Content-Type': 'application/json;charset=utf-8' },
    });
    expect(made.status).toBe(201);
  });

  it('are read by token and by Basic', async () => {
    const byBasic = basic(administrator.UserName, administrator.Password);
    expect((await service.anonymous('GET', sessions, { headers: byBasic })).status).toBe(200);
    expect((await service.ask('GET', sessions)).status).toBe(200);
  });
});

describe('a request with wrong credentials', () => {
  it('gets 401 at an unknown URI too, and the error does not repeat the credentials', async () => {
    const wrong = 'c0ffee'.repeat(8);
    const answer = await service.anonymous('GET', `${root}/Nowhere`, {
      headers: { ...token(wrong), ...basic('some-user', 'some-password') },
    });
    expect(answer.status).toBe(401);
    expect(`${answer.text}${JSON.stringify(answer.headers)}`).not.toMatch(/c0ffee|some-user|some-password/);
  });
});

describe('the manager', () => {
  it('has the service entry point UUID of the service root, never null', async () => {
    const { UUID } = await service.get(`${root}/`);
    expect(UUID).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    for (const path of await service.members(`${root}/Managers`)) {
      expect((await service.get(path))['ServiceEntryPointUUID']).toBe(UUID);
    }
  });

  it('shows no NTP, because it does not support NTP', async () => {
    const protocols = await service.get(linkIn(await service.get(manager), 'NetworkProtocol'));
    expect(protocols).not.toHaveProperty('NTP');
  });
});

describe('a subscription', () => {
  const subscriptions = `${root}/EventService/Subscriptions`;

  it('is created at once, even if its destination does not answer', async () => {
    const Destination = 'https://192.168.1.50/rackless';
    const made = await service.ask('POST', subscriptions, { body: { Destination, Protocol: 'Redfish', Context: 'c' } });
    expect([made.status, made.headers.location]).toEqual([201, bodyOf(made)['@odata.id']]);
    expect(bodyOf(made)).toMatchObject({ Context: 'c', Protocol: 'Redfish', SubscriptionType: 'RedfishEvent' });
  });

  it('is not created for an unsupported protocol', async () => {
    const body = { Destination: 'ftp://192.168.1.50/', Protocol: 'FTP', Context: 'c' };
    const refused = await service.ask('POST', subscriptions, { body });
    expect([refused.status, messagesOf(refused).includes('PropertyValueNotInList')]).toEqual([400, true]);
  });
});

describe('a stream of events', () => {
  it('continues when its session is deleted', async () => {
    const opened = await service.logIn(administrator.UserName, administrator.Password);
    const stream = await openStream(service, '', tokenOf(opened));
    await until('the first event of the stream', () => stream.ids.length >= 1);
    expect((await service.ask('DELETE', String(opened.headers.location))).status).toBe(204);
    await service.ask('PATCH', machine, { body: { AssetTag: 'seen' } });
    await until('the next events', () => stream.text().includes('AssetTag'));
    expect(stream.ended).toBe(false);
    stream.close();
  });
});

describe('an unknown method', () => {
  it("gets 501 with a Redfish error, although Node's parser rejects it before our code", async () => {
    const answer = await service.raw(
      'FAKEMETHODFORTEST /redfish/v1/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 501 /);
    expect(answer).toContain('"@Message.ExtendedInfo"');
  });
});
