/** Tests `racklessctl console` with services that behave differently from bmc-daemon. */
import { chmodSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { commandFixture } from '../support/command.js';
import { oneMachine, scriptedServices } from '../support/scripted-service.js';

const { run, start, write } = commandFixture();
const serve = scriptedServices();

describe('console', () => {
  const bmc = '/redfish/v1/Managers/1';
  const managed = { Links: { ManagedBy: [{ '@odata.id': bmc }] } };

  it('uses the console of the manager if the system has no SSH console', async () => {
    const service = await serve({
      ...oneMachine(managed),
      [`GET ${bmc}`]: {
        SerialConsole: { ServiceEnabled: true, ConnectTypesSupported: ['SSH', 'IPMI'] },
        NetworkProtocol: { '@odata.id': `${bmc}/NetworkProtocol` },
      },
      [`GET ${bmc}/NetworkProtocol`]: { SSH: { Port: 2200 } },
    });
    const { stdout } = await run(['console', 'sys', '--print', '--url', service.url]);
    expect(stdout).toBe('ssh -t -p 2200 -- 127.0.0.1\n');
  });

  it('says which other consoles the service offers if it has no serial console over SSH', async () => {
    const service = await serve({
      ...oneMachine({ ...managed, GraphicalConsole: { ServiceEnabled: true } }),
      [`GET ${bmc}`]: { SerialConsole: { ServiceEnabled: true, ConnectTypesSupported: ['IPMI'] } },
    });
    const { code, stderr } = await run(['console', 'sys', '--url', service.url]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'racklessctl: the service offers no serial console over SSH for this machine. It offers serial over LAN: ' +
        `ipmitool -I lanplus -H 127.0.0.1 -U USER -a sol activate; a graphical console in a browser: ${service.url}\n`,
    });
  });

  it('does not suggest the console of a manager whose serial console is disabled', async () => {
    const SerialConsole = { ServiceEnabled: false, ConnectTypesSupported: ['SSH', 'IPMI', 'Telnet'] };
    const service = await serve({ ...oneMachine(managed), [`GET ${bmc}`]: { SerialConsole } });
    const { code, stderr } = await run(['console', 'sys', '--url', service.url]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'racklessctl: the service offers no serial console over SSH for this machine. ' +
        'For bmc-daemon, set EMULATOR_CONSOLE_SSH_PORT, and give the machine a serial port\n',
    });
  });

  it('never takes a text of the service as an option or as words of a shell', async () => {
    const SerialConsole = { SSH: { ServiceEnabled: true, Port: 22, ConsoleEntryCommand: "-oProxyCommand='touch x'" } };
    const service = await serve(oneMachine({ SerialConsole }));
    const { stdout } = await run(['console', 'sys', '--print', '--url', service.url]);
    expect(stdout).toBe(`ssh -t -p 22 -- 127.0.0.1 '-oProxyCommand='\\''touch x'\\'''\n`);
  });

  it('ends ssh when SIGTERM ends racklessctl', async () => {
    const service = await serve(oneMachine({ SerialConsole: { SSH: { ServiceEnabled: true } } }));
    const ssh = write('ssh', '#!/bin/sh\necho connected >&2\nexec sleep 20\n');
    chmodSync(ssh, 0o700);
    const command = start(['console', 'System', '--url', service.url], {
      PATH: `${ssh.slice(0, -'/ssh'.length)}:${process.env['PATH'] ?? ''}`,
    });
    await command.waitForOutput('connected');
    command.child.kill('SIGTERM');
    // `waitForExit` waits until all processes have closed standard error, so ssh has ended.
    const { code, stderr } = await command.waitForExit();
    expect(code).toBe(130);
    expect(stderr).toContain('racklessctl: interrupted');
  });
});
