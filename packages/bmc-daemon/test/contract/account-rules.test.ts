/**
 * Tests the rules of DMTF's Protocol-Validator for accounts and roles, one test per rule.
 * docs/internals/conformance-rules.md lists all rules.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Received } from '../support/client.js';
import {
  accounts,
  administrator,
  bodyOf,
  messagesOf,
  roles,
  sessions,
  startRuleService,
  type Body,
  type RuleService,
} from './rule-service.js';

let service: RuleService;

beforeAll(async () => {
  service = await startRuleService();
});
afterAll(() => service.close());

const tokenOf = ({ headers }: Received) => ({ 'X-Auth-Token': String(headers['x-auth-token']) });

/** Creates an account with a password of 16 characters, as the validator does. */
async function addAccount(name: string, more: Body = {}): Promise<{ readonly uri: string; readonly password: string }> {
  const password = 'Zb9_x.Q-71kLm20a';
  const made = await service.ask('POST', accounts, {
    body: { UserName: name, Password: password, RoleId: 'ReadOnly', ...more },
  });
  expect(made.status).toBe(201);
  return { uri: String(made.headers.location), password };
}

describe('an account', () => {
  it('has an ETag in the syntax of RFC 9110', async () => {
    const { uri } = await addAccount('tagged');
    const { headers } = await service.ask('GET', uri);
    expect(headers.etag).toMatch(/^(W\/)?"[\x21\x23-\x7e]*"$/);
  });

  it('does not change by a PATCH with an unknown property, which the error names', async () => {
    const { uri, password } = await addAccount('mixed');
    const mixed = await service.ask('PATCH', uri, { body: { Password: 'another-Pass1', BogusProp: 'x' } });
    expect([mixed.status, ...messagesOf(mixed)]).toEqual([400, 'PropertyUnknown']);
    expect((await service.logIn('mixed', password)).status).toBe(201);
    const bogus = await service.ask('PATCH', uri, { body: { BogusProp: 'x' } });
    expect([bogus.status, bogus.text.includes('BogusProp')]).toEqual([400, true]);
  });

  it('does not change by a PATCH with annotations only', async () => {
    const { uri } = await addAccount('annotated');
    const answer = await service.ask('PATCH', uri, { body: { '@odata.id': uri } });
    expect([answer.status, ...messagesOf(answer)]).toEqual([400, 'NoOperation']);
  });

  it.each(['"x"', '"x"foobar', 'x', 'W/"x"'])('does not change with If-Match: %s', async (tag) => {
    const uri = `${accounts}/${administrator.UserName}`;
    const answer = await service.ask('PATCH', uri, { body: { Password: 'never-this1' }, headers: { 'If-Match': tag } });
    expect([answer.status, ...messagesOf(answer)]).toEqual([412, 'PreconditionFailed']);
  });

  it('with ReadOnly can change its own password, but no other account', async () => {
    const reader = await addAccount('reader');
    const other = await addAccount('other');
    const headers = tokenOf(await service.logIn('reader', reader.password));
    const body = { Password: 'Changed-by-16.ch' };
    expect((await service.anonymous('PATCH', other.uri, { body, headers })).status).toBe(403);
    expect((await service.anonymous('PATCH', reader.uri, { body, headers })).status).toBe(200);
    expect((await service.logIn('reader', body.Password)).status).toBe(201);
    expect((await service.logIn('other', other.password)).status).toBe(201);
  });

  it('can only be read and get a new password while this is required; then it has the access of its role', async () => {
    const { uri, password } = await addAccount('new', { PasswordChangeRequired: true });
    const opened = await service.logIn('new', password);
    expect([opened.status, ...messagesOf(opened)]).toEqual([201, 'PasswordChangeRequired']);
    const headers = tokenOf(opened);
    expect((await service.anonymous('GET', uri, { headers })).status).toBe(200);
    const refused = await service.anonymous('GET', sessions, { headers });
    expect([refused.status, ...messagesOf(refused)]).toEqual([403, 'PasswordChangeRequired']);
    const changed = await service.anonymous('PATCH', uri, { body: { Password: 'Changed-by-16.ch' }, headers });
    expect([changed.status, bodyOf(changed)['PasswordChangeRequired']]).toEqual([200, false]);
    expect((await service.anonymous('GET', sessions, { headers })).status).toBe(200);
  });
});

describe('roles', () => {
  it.each([
    ['Administrator', ['Login', 'ConfigureManager', 'ConfigureUsers', 'ConfigureComponents', 'ConfigureSelf']],
    ['Operator', ['Login', 'ConfigureComponents', 'ConfigureSelf']],
    ['ReadOnly', ['Login', 'ConfigureSelf']],
  ])('always have the privileges that Redfish defines if they are predefined: %s', async (id, privileges) => {
    const uri = `${roles}/${id}`;
    expect(await service.get(uri)).toMatchObject({ RoleId: id, IsPredefined: true, AssignedPrivileges: privileges });
    const refused = await service.ask('PATCH', uri, { body: { AssignedPrivileges: ['Login'] } });
    expect(refused.status).toBe(400);
    expect((await service.get(uri))['AssignedPrivileges']).toEqual(privileges);
  });
});
