/**
 * Fills a small file system that the daemon uses. No operation may be half done, and clients learn
 * what was not stored. Also tests starts with temporary and damaged files.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { daemonFixture, FAKE } from './fixture.js';
import type { DaemonProcess } from './process.js';

const { at, config, makeCertificate, start } = daemonFixture();

const root = '/redfish/v1';
const sharedChassis = { Id: 'rack', Name: 'Rack', UUID: '48295861-2522-3561-6729-621118518810' };
const agent = new Agent({ rejectUnauthorized: false });

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly text: string;
}

/**
 * Starts a daemon whose state, passwords and certificate are in a file system of 256 KiB, which
 * ends with the daemon.
 */
function startOnSmallDisk(): DaemonProcess {
  makeCertificate('server');
  execFileSync('htpasswd', ['-cbB', '-C', '4', at('users'), 'admin', 'secret words'], { stdio: 'pipe' });
  execFileSync('htpasswd', ['-bB', '-C', '4', at('users'), 'olga', 'operates all'], { stdio: 'pipe' });
  const disk = at('disk');
  const settings = {
    EMULATOR_AUTH_FILE: `${disk}/users`,
    EMULATOR_SSL_CERT: `${disk}/server.pem`,
    EMULATOR_SSL_KEY: `${disk}/server.key`,
    EMULATOR_STATE_DIR: `${disk}/state`,
  };
  const text = Object.entries(settings).map(([key, value]) => `${key} = '${value}'\n`);
  text.push(`EMULATOR_CHASSIS = [${JSON.stringify(sharedChassis)}]\n`);
  const files = ['users', 'server.pem', 'server.key'].map((name) => at(name)).join(' ');
  const script = `mkdir "$0" && mount -t tmpfs -o size=256k,mode=700 tmpfs "$0" && cp ${files} "$0" && exec "$@"`;
  return start([...FAKE, '--config', config(text.join(''))], {
    through: ['unshare', '--mount', 'sh', '-c', script, disk],
  });
}

/**
 * Fills the disk of a daemon until nothing more fits.
 * @returns a function that frees the space.
 */
function fill(folder: string): () => void {
  const filler = path.join(folder, 'filler');
  const bytes = Buffer.alloc(4096, 'x');
  for (let pages = 0; pages < 100; pages += 1) {
    try {
      writeFileSync(filler, bytes, { flag: 'a' });
    } catch {
      return () => rmSync(filler);
    }
  }
  throw new Error('the disk is larger than it should be');
}

/** Returns a function that sends requests as `admin`, without verifying the certificate. */
function caller(address: string) {
  const { host } = new URL(address);
  return (method: string, uri: string, body?: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `https://${host}${uri}`,
        {
          method,
          agent,
          auth: 'admin:secret words',
          headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
          response.once('end', () =>
            resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? '', text }),
          );
        },
      );
      sent.once('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

const memberOf = ({ text }: Answer): string =>
  /"@odata.id":"([^"]+)"\}?[,\]]/.exec(text.slice(text.indexOf('"Members"')))?.[1] ?? '';

describe('a full disk', () => {
  it('gives 507 with the name of the file for every write that must be stored, and changes nothing', async () => {
    const daemon = startOnSmallDisk();
    const call = caller(await daemon.address());
    const disk = `/proc/${daemon.pid}/root${at('disk')}`;
    const accounts = `${root}/AccountService/Accounts`;
    const manager = memberOf(await call('GET', `${root}/Managers`));
    const networkInterface = memberOf(await call('GET', `${manager}/EthernetInterfaces`));
    const report = memberOf(await call('GET', `${root}/TelemetryService/MetricReportDefinitions`));
    const chassis = `${root}/Chassis/${sharedChassis.UUID}`;
    const role = { RoleId: 'Clerk', AssignedPrivileges: ['Login', 'ConfigureSelf'] };
    const account = { UserName: 'ada', Password: 'ada counts', RoleId: 'ReadOnly' };
    const listener = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish', Context: 'mine' };
    const subscription = (await call('POST', `${root}/EventService/Subscriptions`, listener)).location;
    expect((await call('POST', `${root}/AccountService/Roles`, role)).status).toBe(201);
    const certificate = {
      CertificateUri: { '@odata.id': `${manager}/NetworkProtocol/HTTPS/Certificates/1` },
      CertificateString: `${readFileSync(at('server.pem'), 'utf8')}${readFileSync(at('server.key'), 'utf8')}`,
      CertificateType: 'PEM',
    };
    const request = {
      CertificateCollection: { '@odata.id': `${manager}/NetworkProtocol/HTTPS/Certificates` },
      CommonName: 'bmc.example.org',
    };

    /** Each write, the file that its error names, and the resource that must stay unchanged. */
    const writes: readonly (readonly [
      file: string,
      method: string,
      uri: string,
      body: object | undefined,
      stays: string,
    ])[] = [
      ['users', 'POST', accounts, account, accounts],
      [
        'users',
        'PATCH',
        `${accounts}/olga`,
        { Password: 'other words', RoleId: 'ReadOnly', Enabled: false },
        `${accounts}/olga`,
      ],
      ['users', 'PATCH', `${accounts}/olga`, { UserName: 'olivia', RoleId: 'ReadOnly' }, `${accounts}/olga`],
      ['access.json', 'PATCH', `${accounts}/olga`, { RoleId: 'ReadOnly' }, `${accounts}/olga`],
      ['users', 'DELETE', `${accounts}/olga`, undefined, `${accounts}/olga`],
      [
        'access.json',
        'POST',
        `${root}/AccountService/Roles`,
        { ...role, RoleId: 'Nurse' },
        `${root}/AccountService/Roles`,
      ],
      [
        'access.json',
        'PATCH',
        `${root}/AccountService/Roles/Clerk`,
        { AssignedPrivileges: ['Login'] },
        `${root}/AccountService/Roles/Clerk`,
      ],
      ['access.json', 'DELETE', `${root}/AccountService/Roles/Clerk`, undefined, `${root}/AccountService/Roles`],
      ['access.json', 'PATCH', `${root}/AccountService`, { AccountLockoutThreshold: 7 }, `${root}/AccountService`],
      ['access.json', 'PATCH', `${root}/SessionService`, { SessionTimeout: 77 }, `${root}/SessionService`],
      ['subscriptions-', 'PATCH', `${root}/EventService`, { DeliveryRetryAttempts: 7 }, `${root}/EventService`],
      ['subscriptions-', 'POST', `${root}/EventService/Subscriptions`, listener, `${root}/EventService/Subscriptions`],
      ['subscriptions-', 'PATCH', subscription, { Context: 'other' }, subscription],
      ['subscriptions-', 'POST', `${subscription}/Actions/EventDestination.SuspendSubscription`, {}, subscription],
      ['subscriptions-', 'DELETE', subscription, undefined, subscription],
      ['telemetry-', 'PATCH', `${root}/TelemetryService`, { ServiceEnabled: false }, `${root}/TelemetryService`],
      ['telemetry-', 'PATCH', report, { MetricReportDefinitionEnabled: false }, report],
      ['indicators.json', 'PATCH', chassis, { LocationIndicatorActive: true }, chassis],
      ['manager-network-', 'PATCH', networkInterface, { HostName: 'another' }, networkInterface],
      ['discovery-', 'PATCH', `${manager}/NetworkProtocol`, { SSDP: { NotifyTTL: 7 } }, `${manager}/NetworkProtocol`],
      [
        'server.',
        'POST',
        `${root}/CertificateService/Actions/CertificateService.ReplaceCertificate`,
        certificate,
        `${manager}/NetworkProtocol/HTTPS/Certificates/1`,
      ],
      [
        'signing-requests-',
        'POST',
        `${root}/CertificateService/Actions/CertificateService.GenerateCSR`,
        request,
        `${root}/CertificateService`,
      ],
    ];
    const bodyTextOf = async (uri: string) => (await call('GET', uri)).text;
    const files = () =>
      readdirSync(disk, { recursive: true })
        .map(String)
        .filter((name) => !name.includes('logs-'))
        .toSorted();

    const free = fill(disk);
    const present = files();
    for (const [file, method, uri, body, stays] of writes) {
      const before = await bodyTextOf(stays);
      const { status, text } = await call(method, uri, body);
      const about = `${method} ${uri} ${JSON.stringify(Object.keys(body ?? {}))}`;
      expect([about, status]).toEqual([about, 507]);
      expect(text).toContain('"Base.1.22.InsufficientStorage"');
      expect(text).toMatch(new RegExp(`Writing ${at('disk')}/\\S*${file}\\S*: there is no room left on the device\\.`));
      expect([about, await bodyTextOf(stays)]).toEqual([about, before]);
    }
    expect(files()).toEqual(present);
    // The account in the failed writes can still log in with its old name and password.
    expect(
      (await call('POST', `${root}/SessionService/Sessions`, { UserName: 'olga', Password: 'operates all' })).status,
    ).toBe(201);

    free();
    for (const [, method, uri, body] of writes.filter(([file]) => !['signing-requests-', 'server.'].includes(file))) {
      // Omits deletions and bodies with a user name, because later writes use the same URIs.
      if (method === 'DELETE' || body === undefined || 'UserName' in body) continue;
      const { status } = await call(method, uri, body);
      expect([method, uri, status]).toEqual([method, uri, expect.any(Number)]);
      expect(status).toBeLessThan(300);
    }
  });
});

describe('the next start of a daemon', () => {
  it('removes the temporary files of a killed daemon, and no other files', async () => {
    makeCertificate('server');
    execFileSync('htpasswd', ['-cbB', '-C', '4', at('users'), 'admin', 'secret words'], { stdio: 'pipe' });
    const settings = `EMULATOR_AUTH_FILE = 'users'\nEMULATOR_STATE_DIR = '${at('state')}'\n`;
    const args = [
      ...FAKE,
      '--config',
      config(settings),
      '--ssl-certificate',
      at('server.pem'),
      '--ssl-key',
      at('server.key'),
    ];
    const first = start(args);
    const call = caller(await first.address());
    expect((await call('PATCH', `${root}/SessionService`, { SessionTimeout: 77 })).status).toBe(200);
    first.signal('SIGKILL');
    await first.waitForExit();
    const left = [
      '.users.0123456789ab',
      '.server.key.0123456789ab',
      '.server.pem.0123456789ab',
      'state/.access.json.0123456789ab',
    ];
    const others = ['.users.swp', '.server.key.old', 'state/.access.json.1'];
    for (const name of [...left, ...others]) writeFileSync(at(name), 'half of it');

    const second = start(args);
    await second.address();
    const present = new Set(readdirSync(at('.'), { recursive: true }).map(String));
    expect([...left, ...others].filter((name) => present.has(name))).toEqual(others);
    expect(second.messages('warn').filter((message) => message.startsWith('removed '))).toHaveLength(left.length);
  });

  it('moves damaged files of events and telemetry away, and logs each of them', async () => {
    const settings = config(`EMULATOR_STATE_DIR = '${at('state')}'\n`);
    const first = start([...FAKE, '--config', settings]);
    const address = await first.address();
    const sent = { method: 'PATCH', headers: { 'Content-Type': 'application/json' } };
    for (const [uri, body] of [
      ['EventService', { DeliveryRetryAttempts: 7 }],
      ['TelemetryService', { ServiceEnabled: false }],
    ] as const)
      expect((await fetch(`${address}${root}/${uri}`, { ...sent, body: JSON.stringify(body) })).status).toBe(200);
    first.signal('SIGTERM');
    await first.waitForExit();
    const damaged = readdirSync(at('state')).filter((name) => name.endsWith('.json'));
    expect(damaged).toHaveLength(2);
    for (const name of damaged) writeFileSync(at(`state/${name}`), Buffer.from([0x7b, 0xff, 0x7d]));

    const second = start([...FAKE, '--config', settings]);
    await second.address();
    expect(second.messages('error').filter((message) => message.includes('is damaged'))).toHaveLength(2);
    expect(
      readdirSync(at('state'))
        .filter((name) => name.endsWith('.broken'))
        .toSorted(),
    ).toEqual(damaged.map((name) => `${name}.broken`).toSorted());
  });
});
