import { describe, expect, it } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { daemonFixture, FAKE } from './fixture.js';

describe('machines of a file', () => {
  const fixture = daemonFixture();

  const serve = async (text: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
    writeFileSync(fixture.at('lab.yaml'), text);
    return await fixture.start([...FAKE, '--fake-machines', fixture.at('lab.yaml')], { env }).address();
  };
  const send = async (url: string, body: object): Promise<Response> =>
    await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

  it('are served, here 2,000 of them, and found by name', async () => {
    const base = await serve('machines: [{name: "node-{n:4}", count: 2000, cpus: 16}]');
    const list = (await (await fetch(`${base}/redfish/v1/Systems`)).json()) as Record<string, unknown>; // The answer is a collection.
    expect(list['Members@odata.count']).toBe(2000);
    const response = await fetch(`${base}/redfish/v1/Systems/node-1999`);
    expect(await response.json()).toMatchObject({
      Name: 'node-1999',
      PowerState: 'Off',
      ProcessorSummary: { Count: 16 },
    });
  });

  it('may come from a pipe, because the start reads the file only once', async () => {
    writeFileSync(fixture.at('lab.yaml'), 'machines: [{name: piped}]');
    const through = ['bash', '-c', `exec "$@" --fake-machines <(cat '${fixture.at('lab.yaml')}')`, 'bash'];
    const base = await fixture.start(FAKE, { through }).address();
    expect((await fetch(`${base}/redfish/v1/Systems/piped`)).status).toBe(200);
  });

  it('fail as planned: 503 with Retry-After, 500, and an unreachable image server', async () => {
    const base = await serve(`
machines:
  - {name: away, failures: [{effect: unavailable, operation: any}]}
  - {name: broken, failures: [{effect: error, operation: power_on, calls: 1}, {effect: error, operation: insert}]}
`);
    const systems = `${base}/redfish/v1/Systems`;
    const away = await fetch(`${systems}/away`);
    expect([away.status, away.headers.get('Retry-After')]).toEqual([503, '5']);
    const powerOn = (name: string) => send(`${systems}/${name}/Actions/ComputerSystem.Reset`, { ResetType: 'On' });
    expect([(await powerOn('broken')).status, (await powerOn('broken')).status]).toEqual([500, 204]);
    const inserted = await send(`${systems}/broken/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`, {
      Image: `${base}/a.iso`,
    });
    expect(inserted.status).toBe(502);
    expect(await inserted.text()).toContain('CouldNotEstablishConnection');
  });

  it.each(['Systems?$expand=.', 'Chassis?$expand=.', 'CertificateService/CertificateLocations'])(
    'are in the answer to /redfish/v1/%s even if they cannot be read, with a message',
    async (path) => {
      const base = await serve(`
machines:
  - {name: good}
  - {name: broken, uuid: 27946b59-9e44-4fa7-8e91-f3527a1ef094, failures: [{effect: error, operation: read}]}
`);
      const answer = await fetch(`${base}/redfish/v1/${path}`);
      const text = await answer.text();
      expect([answer.status, text]).toEqual([200, expect.stringContaining('27946b59-9e44-4fa7-8e91-f3527a1ef094')]);
      expect(text).toContain('"@Message.ExtendedInfo":[{');
    },
  );

  it('do not start after a power-off during the planned delay', async () => {
    const base = await serve('machines: [{name: slow, delays: {power_on: 3600}}]', {
      EMULATOR_TASK_AFTER_SECONDS: '0.1',
    });
    const reset = `${base}/redfish/v1/Systems/slow/Actions/ComputerSystem.Reset`;
    const starting = await send(reset, { ResetType: 'On' });
    expect(starting.status).toBe(202);
    const { '@odata.id': task } = (await starting.json()) as { '@odata.id': string }; // The answer is a Task.
    await send(reset, { ResetType: 'ForceOff' });
    const taskState = async () => ((await (await fetch(`${base}${task}`)).json()) as { TaskState: string }).TaskState; // The answer is a Task.
    let state = await taskState();
    while (state === 'Running') state = await taskState();
    expect(state).toBe('Exception');
    const system = await fetch(`${base}/redfish/v1/Systems/slow`);
    expect(await system.json()).toMatchObject({ PowerState: 'Off' });
  });

  it('prevent the start if the file has faults', async () => {
    writeFileSync(fixture.at('lab.yaml'), 'machines:\n  - name: a\n    cpus: many\n');
    const daemon = fixture.start([...FAKE, '--fake-machines', fixture.at('lab.yaml')]);
    const { code, stderr } = await daemon.waitForExit();
    expect(code).toBe(78);
    expect(stderr).toContain('lab.yaml:3: machines[0].cpus must be an integer from 1 to 4096, not the string "many"');
  });
});
