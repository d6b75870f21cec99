/** Tests sessions with independent clients: sushy, redfishtool, ilorest. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { curl, environment, output, redfishtool, wholeSushy } from './programs.js';
import { serveMachines, type Served } from './served.js';

let served: Served;
beforeAll(async () => {
  served = await serveMachines({ secured: true });
});
afterAll(() => served.close());

/** Returns the credentials of the daemon. */
function credentials(): { readonly user: string; readonly password: string } {
  if (served.credentials === undefined) throw new Error('the daemon of these tests has a password');
  return served.credentials;
}

/** Returns the URIs of the open sessions. */
async function openSessions(): Promise<readonly string[]> {
  const { body } = await curl(served, '/redfish/v1/SessionService/Sessions');
  return (body as { Members: { '@odata.id': string }[] }).Members.map((member) => member['@odata.id']); // The schema requires this form.
}

describe('sessions', () => {
  it('are opened by sushy, opened again after their end, and closed; a wrong password gets 401', async () => {
    const { user, password } = credentials();
    const script = join(import.meta.dirname, 'sushy_auth.py');
    const python = environment({ PYTHONPATH: await wholeSushy(served.folder) });
    const text = await output('/usr/bin/python3', [script, `${served.url}/redfish/v1/`, user, password], python);
    expect(JSON.parse(text)).toEqual({
      session: [3, 1],
      'after the end': ['Computer System Collection', 1],
      'after close': 0,
      auto: 3,
      wrong: 401,
    });
  });

  it('are opened and closed by redfishtool, which manages accounts in them', async () => {
    const before = await openSessions();
    const session = ['-A', 'Session'];
    const account = (...words: readonly string[]) => redfishtool(served, ...session, 'AccountService', ...words);
    expect(await redfishtool(served, ...session, 'Systems', 'list')).toMatchObject({ 'Members@odata.count': 3 });
    expect(await account('adduser', 'ada', 'ada counts', 'Operator')).toMatchObject({ RoleId: 'Operator' });
    await account('setpassword', 'ada', 'ada counts on');
    const ada = { ...served, credentials: { user: 'ada', password: 'ada counts on' } };
    expect(await redfishtool(ada, ...session, 'Systems', 'list')).toMatchObject({ 'Members@odata.count': 3 });
    await account('useradmin', 'ada', 'disable');
    await expect(redfishtool(ada, ...session, 'Systems', 'list')).rejects.toThrow('401');
    await account('deleteuser', 'ada');
    expect(await openSessions()).toEqual(before);
  });

  it('are opened by ilorest; its versions before 7 also read a machine in them', async () => {
    const { user, password } = credentials();
    const home = environment({ HOME: served.folder });
    const ilorest = (...words: readonly string[]) => output('ilorest', ['--nologo', ...words], home);
    const major = Number(/ ([0-9]+)\./.exec(await ilorest('--version'))?.[1]);
    const login = ilorest('login', served.url, '-u', user, '-p', password);
    if (major >= 7) {
      // After it has opened the session, ilorest 7 reads `Managers/1`, which only an iLO has. So its login fails.
      await expect(login).rejects.toThrow("'FirmwareVersion'");
      expect(await openSessions()).toHaveLength(1);
      return;
    }
    await login;
    expect(await ilorest('get', 'PowerState', '--selector=ComputerSystem.')).toMatch(/PowerState=O/);
    expect(await openSessions()).toHaveLength(1);
    // If the port is not 443, ilorest computes a wrong session URI. So its logout does not end the
    // session, which ends by its timeout.
    expect(await ilorest('logout')).toContain('Logging session out');
  });

  it('leave neither passwords nor tokens in the log', () => {
    expect(served.log()).toContain('session created');
    expect(served.log()).not.toMatch(/ada counts|guess|[0-9a-f]{64}/);
    expect(served.log()).not.toContain(credentials().password);
  });
});
