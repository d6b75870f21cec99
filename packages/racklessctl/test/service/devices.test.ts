/** Boot override, virtual media and logs of a real bmc-daemon. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBmc, type Bmc } from '../support/bmc.js';
import { commandFixture } from '../support/command.js';
import { ScriptedService } from '../support/scripted-service.js';

let bmc: Bmc;
let images: ScriptedService;
beforeAll(async () => {
  bmc = await startBmc();
  images = await ScriptedService.start({
    'GET /a.iso': (_, response) => void response.end('an image'),
    'HEAD /a.iso': (_, response) => void response.end(),
  });
});
afterAll(() => Promise.all([bmc.close(), images.close()]));
const { json, run } = commandFixture();

const systemPath = (number: number) => `/redfish/v1/Systems/5ac4fa6e-0000-4000-8000-00000000000${number}`;

describe('racklessctl boot', () => {
  const bootOf = async (): Promise<unknown> => (await bmc.get(systemPath(1)))['Boot'];

  it('sets, shows and clears the override', async () => {
    expect(await run(['boot', 'set', 'pxe', 'node-1', '--mode', 'uefi'], bmc.env)).toMatchObject({
      code: 0,
      stdout: 'node-1: boots from Pxe once\n',
    });
    expect(await bootOf()).toMatchObject({ BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' });
    await run(['boot', 'set', 'cd', 'node-1', '--always'], bmc.env);
    expect(await json(['boot', 'show', 'node-1'], bmc.env)).toEqual([
      expect.objectContaining({ name: 'node-1', target: 'Cd', enabled: 'Continuous', mode: 'UEFI' }),
    ]);
    await run(['boot', 'clear', 'node-1'], bmc.env);
    expect(await bootOf()).toMatchObject({ BootSourceOverrideEnabled: 'Disabled' });
    const { stdout } = await run(['boot', 'show', 'node-1'], bmc.env);
    expect(stdout).toMatch(/^NAME +TARGET +ENABLED +MODE +CAN BOOT FROM\nnode-1 +\w+ +Disabled +UEFI +Pxe Cd Hdd/);
  });

  it.each([
    [['boot', 'set', 'usb', 'node-1'], 1, 'cannot boot from Usb. It can boot from: Pxe, Cd, Hdd'],
    [
      ['media', 'insert', 'node-1', 'http://192.0.2.9/x.iso'],
      64,
      "'node-1' is not a URL. Use: racklessctl media insert URL MACHINE",
    ],
    [['boot', 'set', 'tape', 'node-1'], 64, "'tape' is not a boot target. The targets are: pxe, cd"],
    [['boot', 'set', 'pxe', 'node-1', '--once', '--always'], 64, 'exclude each other'],
    [['boot', 'set', 'pxe', 'node-1', '--mode', 'bios'], 64, "--mode must be one of uefi, legacy, not 'bios'"],
  ])('rejects %j', async (args, code, text) => {
    expect(await run(args, bmc.env)).toMatchObject({ code, stderr: expect.stringContaining(text) });
  });
});

describe('racklessctl media', () => {
  it('inserts, lists and ejects an image', async () => {
    const insert = await run(['media', 'insert', `${images.url}/a.iso`, 'node-1', 'node-2'], bmc.env);
    expect({ code: insert.code, lines: insert.stdout.split('\n').sort() }).toEqual({
      code: 0,
      lines: ['', 'node-1: inserted into Cd', 'node-2: inserted into Cd'],
    });
    expect(await json(['media', 'list', 'node-1'], bmc.env)).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: 'Cd', inserted: true, image: `${images.url}/a.iso` })]),
    );
    expect((await run(['media', 'eject', 'node-1'], bmc.env)).stdout).toBe('node-1: ejected Cd\n');
    expect((await run(['media', 'eject', 'node-1', '--drive', 'cd'], bmc.env)).stdout).toBe(
      'node-1: nothing to eject\n',
    );
  });

  it("prints the service's reason for an image that does not exist", async () => {
    const { code, stderr } = await run(['media', 'insert', `${images.url}/b.iso`, 'node-3'], bmc.env);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('the server answered 404') });
  });

  it('hides the query of an invalid image URL, because it may be a token', async () => {
    const { stdout, stderr } = await run(['media', 'insert', 'x y?token=hidden', 'node-3'], bmc.env);
    expect(stdout + stderr).not.toContain('hidden');
  });
});

describe('racklessctl log', () => {
  it('shows the entries in order, and clears the log', async () => {
    await run(['power', 'force-off', 'node-2'], bmc.env);
    await run(['power', 'on', 'node-2'], bmc.env);
    const lines = (await run(['log', 'show', 'node-2'], bmc.env)).stdout.split('\n');
    const off = lines.findIndex((line) => line.endsWith("'node-2' was powered off."));
    const on = lines.findIndex((line) => line.endsWith("'node-2' was powered on."));
    expect([off >= 0, on > off]).toEqual([true, true]);
    expect(lines[on]).toMatch(/^\d{4}-\d\d-\d\dT\S+ +OK +/);
    expect((await run(['log', 'show', 'node-2', '-n', '1'], bmc.env)).stdout.trim().split('\n')).toHaveLength(1);
    expect(await run(['log', 'clear', 'node-2'], bmc.env)).toMatchObject({ code: 0 });
    const after = (await json(['log', 'show', 'node-2'], bmc.env)) as readonly { readonly message: string }[];
    expect(after.filter(({ message }) => message.includes('powered'))).toEqual([]);
  });

  it('lists the logs of the machine and of its manager', async () => {
    const logs = (await json(['log', 'list', 'node-2'], bmc.env)) as readonly { readonly id: string }[];
    expect(logs.map(({ id }) => id)).toEqual(expect.arrayContaining(['EventLog', 'ConsoleLog', 'ManagerLog']));
    const { code, stderr } = await run(['log', 'show', 'node-2', '--log', 'none'], bmc.env);
    expect({ code, stderr }).toEqual({
      code: 66,
      stderr: expect.stringContaining("no log 'none'. The logs are: EventLog (system)"),
    });
  });
});
