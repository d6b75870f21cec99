/** The manager of a machine: its protocols, clock, interfaces, reset and links. Also the health of a failed machine. */
import { expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { describeSpec, serveDriver } from '../spec/spec-daemon.js';

describeSpec('the manager', (spec) => {
  const path = (): string => `/redfish/v1/Managers/${spec().uuid}`;

  it('shows the protocols that are in use as enabled, with their ports', async () => {
    const self = `${path()}/NetworkProtocol`;
    expect((await spec().get(path()))['NetworkProtocol']).toEqual({ '@odata.id': self });
    expect(await spec().get(self)).toEqual({
      '@odata.context': '/redfish/v1/$metadata#ManagerNetworkProtocol.ManagerNetworkProtocol',
      '@odata.id': self,
      '@odata.type': '#ManagerNetworkProtocol.v1_12_0.ManagerNetworkProtocol',
      '@Redfish.Copyright': expect.any(String),
      Id: 'NetworkProtocol',
      Name: 'Manager Network Protocol',
      HostName: 'host',
      FQDN: 'host.example.org',
      HTTP: { ProtocolEnabled: false, Port: null },
      HTTPS: { ProtocolEnabled: true, Port: 8000, Certificates: { '@odata.id': `${self}/HTTPS/Certificates` } },
      SSH: { ProtocolEnabled: true, Port: 2222 },
      SSDP: {
        ProtocolEnabled: false,
        Port: 1900,
        NotifyMulticastIntervalSeconds: 600,
        NotifyTTL: 2,
        NotifyIPv6Scope: null,
        '@Redfish.WriteableProperties': ['ProtocolEnabled', 'NotifyMulticastIntervalSeconds', 'NotifyTTL'],
      },
      Status: { State: 'Enabled', Health: 'OK' },
    });
  });

  it('explains why its clock cannot be set', async () => {
    const answer = await spec().call('PATCH', path(), {
      DateTime: '2030-01-01T00:00:00Z',
      DateTimeLocalOffset: '+01:00',
    });
    expect([answer.status, spec().messageIds(answer)]).toEqual([400, ['PropertyNotWritable', 'PropertyNotWritable']]);
    expect(JSON.stringify(answer.body)).toContain('The clock is that of the host of this service');
    expect(JSON.stringify(answer.body)).toContain('The clock is shown in UTC.');
    expect(await spec().get(path())).not.toHaveProperty(['@Redfish.WriteableProperties']);
  });

  it('accepts valid changes of SSDP and rejects changes of HTTP, HTTPS and NTP', async () => {
    const self = `${path()}/NetworkProtocol`;
    const changed = await spec().call('PATCH', self, { SSDP: { ProtocolEnabled: true, NotifyTTL: 5 } });
    expect([changed.status, spec().objectAt(changed.body ?? {}, 'SSDP')]).toEqual([
      200,
      {
        ProtocolEnabled: true,
        Port: 1900,
        NotifyMulticastIntervalSeconds: 600,
        NotifyTTL: 5,
        NotifyIPv6Scope: null,
        '@Redfish.WriteableProperties': ['ProtocolEnabled', 'NotifyMulticastIntervalSeconds', 'NotifyTTL'],
      },
    ]);
    const refused: readonly (readonly [object, string])[] = [
      [{ HTTPS: { Port: 443 } }, 'PropertyNotWritable'],
      [{ HTTP: { ProtocolEnabled: true } }, 'PropertyNotWritable'],
      [{ SSDP: { Port: 1901 } }, 'PropertyNotWritable'],
      [{ NTP: { ProtocolEnabled: true } }, 'PropertyUnknown'],
      [{ SSDP: { NotifyTTL: 0 } }, 'PropertyValueOutOfRange'],
      [{ SSDP: { NotifyMulticastIntervalSeconds: 86_401 } }, 'PropertyValueOutOfRange'],
      [{ SSDP: { ProtocolEnabled: null } }, 'PropertyValueTypeError'],
    ];
    for (const [body, key] of refused) {
      const answer = await spec().call('PATCH', self, body);
      expect([body, answer.status, spec().messageIds(answer)]).toEqual([body, 400, [key]]);
    }
  });

  it("shows the host's interfaces at which it listens", async () => {
    const collection = `${path()}/EthernetInterfaces`;
    const self = `${collection}/eth0`;
    expect(await spec().members(collection)).toEqual([
      {
        '@odata.context': '/redfish/v1/$metadata#EthernetInterface.EthernetInterface',
        '@odata.id': self,
        '@odata.type': '#EthernetInterface.v1_12_4.EthernetInterface',
        '@Redfish.Copyright': expect.any(String),
        Id: 'eth0',
        Name: 'Manager Ethernet Interface eth0',
        Description: 'Interface eth0 of the host, which the management controllers of all its machines share',
        MACAddress: '52:54:00:00:00:01',
        InterfaceEnabled: true,
        LinkStatus: 'LinkUp',
        SpeedMbps: 1000,
        MTUSize: 1500,
        HostName: 'host',
        FQDN: 'host.example.org',
        NameServers: ['192.0.2.53'],
        StaticNameServers: [],
        VLAN: { VLANEnable: false, VLANId: 0 },
        IPv4Addresses: [
          { Address: '192.0.2.1', SubnetMask: '255.255.255.0', AddressOrigin: null, Gateway: '192.0.2.254' },
        ],
        IPv4StaticAddresses: [],
        IPv6Addresses: [{ Address: 'fe80::1', PrefixLength: 64, AddressOrigin: 'LinkLocal', AddressState: null }],
        IPv6StaticAddresses: [],
        IPv6DefaultGateway: null,
        IPv6StaticDefaultGateways: [],
        Status: { State: 'Enabled', Health: 'OK' },
        '@Redfish.WriteableProperties': [
          'HostName',
          'FQDN',
          'NameServers',
          'StaticNameServers',
          'IPv4Addresses',
          'IPv4StaticAddresses',
          'IPv6StaticAddresses',
        ],
      },
    ]);
    expect((await spec().call('GET', `${collection}/eth9`)).status).toBe(404);
  });

  it('accepts a restart, also without a reset type, and rejects ForceOff', async () => {
    const action = `${path()}/Actions/Manager.Reset`;
    expect(spec().objectAt(await spec().get(path()), 'Actions')).toEqual({
      '#Manager.Reset': { target: action, 'ResetType@Redfish.AllowableValues': ['ForceRestart', 'GracefulRestart'] },
    });
    for (const body of [undefined, {}, { ResetType: 'ForceRestart' }, { ResetType: 'GracefulRestart' }]) {
      expect((await spec().call('POST', action, body)).status).toBe(204);
    }
    const off = await spec().call('POST', action, { ResetType: 'ForceOff' });
    expect([off.status, spec().messageIds(off)]).toEqual([400, ['ActionParameterValueNotInList']]);
  });

  it('links to its chassis only with EMULATOR_DMTF_STRICT', async () => {
    const links = spec().objectAt((await spec().crawlStrict()).get(path()) ?? {}, 'Links');
    expect(links['ManagerForChassis']).toEqual([{ '@odata.id': `/redfish/v1/Chassis/${spec().uuid}` }]);
    expect(spec().objectAt(await spec().get(path()), 'Links')['ManagerForChassis']).toEqual([]);
  });
});

it('the service shows a failed machine as Critical until its next start', async () => {
  const driver = new FakeDriver();
  const { get, stop } = await serveDriver(driver);
  try {
    const machine = await driver.getSystem('node-1');
    const shownHealth = async (): Promise<unknown> => {
      const { PowerState, Status } = await get(`/redfish/v1/Systems/${machine.uuid}`);
      const { Health } = Status as Record<string, unknown>; // Every system has a Status.
      return [PowerState, Health];
    };
    driver.define({ ...machine, state: 'shutoff', failure: 'crashed' });
    await expect(shownHealth()).resolves.toEqual(['Off', 'Critical']);
    driver.define({ ...machine, state: 'crashed' });
    await expect(shownHealth()).resolves.toEqual(['On', 'Critical']);
    driver.define({ ...machine, state: 'paused', failure: 'ioError' });
    await expect(shownHealth()).resolves.toEqual(['Paused', 'Critical']);
    await driver.power('node-1', 'cycle');
    await expect(shownHealth()).resolves.toEqual(['On', 'OK']);
    driver.define({ ...machine, state: 'shutdown' });
    await expect(shownHealth()).resolves.toEqual(['PoweringOff', 'OK']);
    driver.define({ ...machine, state: 'paused', starting: true });
    await expect(shownHealth()).resolves.toEqual(['PoweringOn', 'OK']);
  } finally {
    await stop();
  }
});
