/** Tests that the daemon reads its configuration again while it runs. */
import { describe, expect, it } from '@jest/globals';
import { daemonFixture } from './fixture.js';

type Body = Readonly<Record<string, unknown>>;

async function ask(
  url: string,
  method = 'GET',
  body?: Body,
): Promise<{ readonly status: number; readonly body: Body }> {
  const answer = await fetch(url, {
    method,
    ...(body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : (JSON.parse(text) as Body) }; // Answers of Redfish are JSON objects.
}

describe('reading the configuration again', () => {
  const { start, config } = daemonFixture();
  const configText = (...more: readonly string[]): string =>
    ['EMULATOR_FAKE_DRIVER = True', "EMULATOR_LISTEN_IP = '127.0.0.1'", 'EMULATOR_LISTEN_PORT = 0', ...more, ''].join(
      '\n',
    );

  it('applies changed settings that need no restart, after SIGHUP and after Manager.Reset', async () => {
    const daemon = start(['--config', config(configText())]);
    const address = await daemon.address();
    // The schema requires this property.
    const managers = (await ask(`${address}/redfish/v1/Managers`)).body['Members'] as readonly Record<string, string>[];
    const manager = `${address}${managers[0]?.['@odata.id'] ?? ''}`;
    const forceOff = async (): Promise<number> => {
      const url = `${manager.replace('Managers', 'Systems')}/Actions/ComputerSystem.Reset`;
      return (await ask(url, 'POST', { ResetType: 'ForceOff' })).status;
    };
    const lastReset = async (): Promise<number> => Date.parse(String((await ask(manager)).body['LastResetTime']));
    const started = await lastReset();
    expect(await forceOff()).toBe(204);

    config(configText('EMULATOR_DISABLE_POWER_OFF = True', 'EMULATOR_DMTF_STRICT = True'));
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^configuration reloaded: EMULATOR_DISABLE_POWER_OFF$/);
    await daemon.waitForLog(/^these changes need a restart of the daemon: EMULATOR_DMTF_STRICT$/);
    expect(await forceOff()).toBe(400);

    config(configText());
    expect((await ask(`${manager}/Actions/Manager.Reset`, 'POST', { ResetType: 'GracefulRestart' })).status).toBe(204);
    await daemon.waitForLog(/^configuration reloaded: EMULATOR_DISABLE_POWER_OFF$/, 2);
    expect(await forceOff()).toBe(204);
    expect(await lastReset()).toBeGreaterThanOrEqual(started);
  });

  it('shows clients the active settings and their current origins', async () => {
    const file = config(configText('EMULATOR_DISABLE_POWER_OFF = False'));
    const daemon = start(['--config', file]);
    const id = 'RacklessServiceAttributeRegistry.v1_0_0';
    const registry = `${await daemon.address()}/redfish/v1/Registries/${id}/${id}.json`;
    const shownSetting = async (name: string): Promise<unknown> => {
      const { RegistryEntries: entries } = (await ask(registry)).body;
      // The registry has this form.
      const { Attributes } = entries as { readonly Attributes: readonly Readonly<Record<string, unknown>>[] };
      const found = Attributes.find(({ AttributeName }) => AttributeName === name);
      return [found?.['CurrentValue'], found?.['Oem'] ?? null];
    };
    const originAt = (line: number) => ({
      Rackless: { '@odata.type': '#RacklessAttributeRegistry.v1_0_0.Attribute', Origin: `${file}:${line}` },
    });
    expect(await shownSetting('EMULATOR_DISABLE_POWER_OFF')).toEqual([false, originAt(4)]);
    expect(await shownSetting('EMULATOR_SSDP')).toEqual([false, null]);

    config(configText('', 'EMULATOR_SSDP = True', 'EMULATOR_DISABLE_POWER_OFF = True'));
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^these changes need a restart of the daemon: EMULATOR_SSDP$/);
    expect(await shownSetting('EMULATOR_DISABLE_POWER_OFF')).toEqual([true, originAt(6)]);
    expect(await shownSetting('EMULATOR_SSDP')).toEqual([false, null]);

    config(configText());
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^configuration reloaded: EMULATOR_DISABLE_POWER_OFF$/, 2);
    expect(await shownSetting('EMULATOR_DISABLE_POWER_OFF')).toEqual([false, null]);
  });

  it('changes nothing if the configuration has a fault', async () => {
    const daemon = start(['--config', config(configText('EMULATOR_DISABLE_POWER_OFF = False'))]);
    const address = await daemon.address();
    config(configText('EMULATOR_DISABLE_POWER_OFF = True', "EMULATOR_TASK_AFTER_SECONDS = 'soon'"));
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/EMULATOR_TASK_AFTER_SECONDS must be a number/);
    await daemon.waitForLog(/^reloading the configuration failed: the old one stays in use$/);
    expect(daemon.messages().join('\n')).not.toContain('configuration reloaded: ');
    const reset = `${address}/redfish/v1/Systems/node-2/Actions/ComputerSystem.Reset`;
    expect((await ask(reset, 'POST', { ResetType: 'ForceOff' })).status).toBe(204);
  });
});
