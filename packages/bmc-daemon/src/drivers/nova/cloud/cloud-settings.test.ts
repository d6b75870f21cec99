import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAuthority } from '../../../../test/support/authority.js';
import { CloudError } from './cloud-error.js';
import { readCloud } from './cloud-settings.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rackless-clouds-'));
  mkdirSync(path.join(folder, 'work'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes a file below the test's folder. Returns its path. */
function write(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

type Variables = Readonly<Record<string, string>>;

/** Reads a cloud as a daemon whose working directory is `work` and whose home is `home`. */
function read(name: string, environment: Variables = {}) {
  const variables = { HOME: path.join(folder, 'home'), ...environment };
  return readCloud(name, { environment: variables, directory: path.join(folder, 'work') });
}

/** Returns the faults of a cloud, without the path of the test's folder; empty if there are none. */
function faultsOf(name: string, environment: Variables = {}): readonly string[] {
  try {
    read(name, environment);
  } catch (error) {
    if (!(error instanceof CloudError)) throw error;
    return error.faults.map((fault) => fault.replaceAll(`${folder}/`, ''));
  }
  return [];
}

const entry = (name: string, url: string) => `
clouds:
  ${name}:
    auth:
      auth_url: ${url}
      username: admin
      password: pass-word
      project_name: demo
      user_domain_id: default
      project_domain_name: Default
`;

describe('the files of a cloud', () => {
  it('are searched in the order of openstacksdk, and the daemon reads the first file', () => {
    write('home/.config/openstack/clouds.json', '{"clouds": {"a": {"auth": {}}}}');
    write('home/.config/openstack/clouds.yml', entry('a', 'http://home:5000'));
    expect(read('a').identityUrl).toBe('http://home:5000/v3');
    write('xdg/openstack/clouds.yaml', entry('a', 'http://xdg:5000/identity/'));
    const xdg = { XDG_CONFIG_HOME: path.join(folder, 'xdg') };
    expect(read('a', xdg).identityUrl).toBe('http://xdg:5000/identity/v3');
    write('work/clouds.yaml', entry('a', 'http://work:5000/v3/'));
    expect(read('a', xdg).identityUrl).toBe('http://work:5000/v3');
    const named = write('named.yaml', entry('a', 'http://named:5000/v2.0'));
    expect(read('a', { ...xdg, OS_CLIENT_CONFIG_FILE: named }).identityUrl).toBe('http://named:5000/v3');
  });

  it('cause an error that names the missing file, the missing cloud or the invalid line', () => {
    expect(faultsOf('lab')).toEqual([
      "cloud 'lab': there is no clouds.yaml in work, home/.config/openstack, /etc/xdg/openstack, /etc/openstack",
    ]);
    const gone = { OS_CLIENT_CONFIG_FILE: path.join(folder, 'none.yaml') };
    expect(faultsOf('lab', gone)).toEqual([
      'environment OS_CLIENT_CONFIG_FILE: none.yaml cannot be read: there is no such file',
    ]);
    write('work/clouds.yaml', entry('lab-1', 'http://a'));
    expect(faultsOf('lab-2')).toEqual(["work/clouds.yaml:2: there is no cloud 'lab-2'; the nearest name is 'lab-1'"]);
    write('work/clouds.yaml', 'clouds:\n  lab: [');
    expect(faultsOf('lab')).toEqual([expect.stringMatching(/^work\/clouds\.yaml:\d+: this is not valid YAML/)]);
    write('work/clouds.yaml', 'clouds: 5\n');
    expect(faultsOf('lab')).toEqual(['work/clouds.yaml:1: clouds must be a mapping']);
  });

  it('are completed by secure.yaml, which overrides clouds.yaml', () => {
    write('work/clouds.yaml', entry('a', 'http://a'));
    write('home/.config/openstack/secure.yaml', 'clouds:\n  a:\n    auth:\n      password: secret\n');
    const { credentials } = read('a');
    expect(credentials.secrets).toEqual(['secret']);
    expect(credentials.place).toBe(`${folder}/home/.config/openstack/secure.yaml:4: auth.password`);
    expect(credentials.auth).toMatchObject({ identity: { password: { user: { name: 'admin', password: 'secret' } } } });
  });

  it.each(['', '# no secrets yet\n', '---\n'])(
    'may include a secure.yaml without values, unlike a clouds.yaml without values: %j',
    (text) => {
      write('work/clouds.yaml', entry('a', 'http://a'));
      write('work/secure.yaml', text);
      expect(read('a').credentials.secrets).toEqual(['pass-word']);
      write('work/clouds.yaml', text);
      expect(faultsOf('a')).toEqual(['work/clouds.yaml: the file is empty']);
    },
  );

  it('are searched in ~/.config if XDG_CONFIG_HOME is empty', () => {
    write('home/.config/openstack/clouds.yaml', entry('a', 'http://home:5000'));
    expect(read('a', { XDG_CONFIG_HOME: '' }).identityUrl).toBe('http://home:5000/v3');
  });

  it('may use a profile of clouds-public.yaml, which the entry overrides', () => {
    const text =
      'clouds:\n  a:\n    profile: vendor\n    region_name: R2\n    auth:\n      token: t\n      project_id: p\n';
    write('work/clouds.yaml', text);
    expect(faultsOf('a')).toEqual([
      expect.stringMatching(/^work\/clouds\.yaml:3: profile: there is no profile 'vendor'/),
    ]);
    const profile =
      'public-clouds:\n  vendor:\n    region_name: R1\n    interface: internal\n    auth:\n      auth_url: https://v\n';
    write('work/clouds-public.yaml', profile);
    expect(read('a')).toMatchObject({ identityUrl: 'https://v/v3', region: 'R2', interface: 'internal' });
  });
});

describe('the entry of a cloud', () => {
  it('gives the request for a token, which contains user name, password and project', () => {
    write('work/clouds.yaml', entry('a', 'http://a'));
    expect(read('a').credentials.auth).toEqual({
      identity: {
        methods: ['password'],
        password: { user: { name: 'admin', domain: { id: 'default' }, password: 'pass-word' } },
      },
      scope: { project: { name: 'demo', domain: { name: 'Default' } } },
    });
  });

  it.each<[string, string, object]>([
    [
      'an application credential by id, without a scope',
      'application_credential_id: i\n      application_credential_secret: s',
      { identity: { methods: ['application_credential'], application_credential: { id: 'i', secret: 's' } } },
    ],
    [
      'an application credential by name and user',
      'application_credential_name: n\n      application_credential_secret: s\n      user_id: u',
      {
        identity: {
          methods: ['application_credential'],
          application_credential: { name: 'n', user: { id: 'u' }, secret: 's' },
        },
      },
    ],
    [
      'a token',
      'token: t\n      project_id: p',
      { identity: { methods: ['token'], token: { id: 't' } }, scope: { project: { id: 'p' } } },
    ],
    [
      'old names, hyphens, numbers and a default domain',
      'user-id: u\n      password: 7\n      tenant_name: 12\n      default_domain_id: d',
      {
        identity: { methods: ['password'], password: { user: { id: 'u', password: '7' } } },
        scope: { project: { name: '12', domain: { id: 'd' } } },
      },
    ],
  ])('gives the request for a token with %s', (_, auth, expected) => {
    write('work/clouds.yaml', `clouds:\n  a:\n    auth:\n      auth_url: http://a\n      ${auth}\n`);
    expect(read('a').credentials.auth).toEqual(expected);
  });

  it.each(['7', '12345678901234567890123', '1.5', '3.0'])(
    'uses the unquoted number %s of a secret exactly',
    (written) => {
      write('work/clouds.yaml', entry('a', 'http://a').replace('pass-word', written));
      expect(read('a').credentials.secrets).toEqual([written]);
    },
  );

  it.each([
    ...['0777', '007', '0x10', '0b11', '1_000', '1:30', '1.50', '+7', '-0', '.5', '.inf'],
    '12345678901234567890_1',
  ])('rejects the unquoted number %s of a secret, because YAML changes it, and does not show it', (written) => {
    const text = entry('a', 'http://a');
    write('work/clouds.yaml', text.replace('pass-word', written));
    const place = `work/clouds.yaml:${text.split('\n').findIndex((line) => line.includes('pass-word')) + 1}`;
    expect(faultsOf('a')).toEqual([`${place}: auth.password is a number that YAML changes: put it in quotes`]);
    write('work/clouds.yaml', text.replace('pass-word', `"${written}"`));
    expect(read('a').credentials.secrets).toEqual([written]);
    const secrets = 'application_credential_id: i\n      application_credential_secret:';
    for (const field of [secrets, 'project_id: p\n      token:']) {
      write('work/clouds.yaml', `clouds:\n  a:\n    auth:\n      auth_url: http://a\n      ${field} ${written}\n`);
      expect(faultsOf('a')).toEqual([
        expect.stringMatching(/^work\/clouds\.yaml:6: auth\.\w+ is a number that YAML changes/),
      ]);
    }
  });

  it('accepts fields of auth next to auth, and prefers fields within auth', () => {
    const text =
      'clouds:\n  a:\n    user_domain_id: outside\n    project_domain_id: outside\n    auth:\n      auth_url: http://a\n';
    const rest = '      username: u\n      password: p\n      project_name: n\n      project_domain_id: inside\n';
    write('work/clouds.yaml', text + rest);
    expect(read('a').credentials.auth).toMatchObject({
      identity: { password: { user: { domain: { id: 'outside' } } } },
      scope: { project: { domain: { id: 'inside' } } },
    });
  });

  it('comes from the variables OS_* if the name of the cloud is envvars', () => {
    expect(faultsOf('envvars')).toEqual(["cloud 'envvars': OS_AUTH_URL is not set"]);
    const variables = {
      ...{ OS_AUTH_URL: 'https://k:5000', OS_USERNAME: 'u', OS_PASSWORD: '0123', OS_PROJECT_NAME: 'p' },
      ...{ OS_USER_DOMAIN_NAME: 'D', OS_PROJECT_DOMAIN_ID: 'd', OS_REGION_NAME: 'R', OS_ENDPOINT_TYPE: 'internalURL' },
    };
    const { credentials, region, interface: accessed } = read('envvars', variables);
    expect([credentials.secrets, credentials.place]).toEqual([['0123'], 'environment OS_PASSWORD: auth.password']);
    expect([region, accessed]).toEqual(['R', 'internal']);
  });

  it('reports all faults at once, with their lines and without secrets', () => {
    const lines = [
      ...['clouds:', '  a:', '    identity_api_version: 2', '    interface: outside', '    verify: perhaps'],
      ...['    cacert: none.pem', '    key: none.key', '    compute_endpoint_override: http://user:hunter2@nova'],
      ...[
        '    auth:',
        '      auth_url: keystone',
        '      password: [hunter2]',
        '      username: u',
        '      project_id: p',
      ],
    ];
    write('work/clouds.yaml', lines.join('\n'));
    const faults = faultsOf('a');
    const file = 'work/clouds.yaml';
    expect([...faults].sort()).toEqual(
      [
        `${file}:3: identity_api_version must be 3`,
        `${file}:10: auth.auth_url must be a URL with http or https, without a user name`,
        `${file}:11: auth.password must be a text, not a list`,
        `${file}:9: auth.user_domain_name is missing`,
        `${file}:4: interface must be one of public, publicURL, internal, internalURL, admin, adminURL`,
        `${file}:5: verify must be true or false, not the string "perhaps"`,
        `${file}:6: cacert cannot be used: work/none.pem: there is no such file`,
        `${file}:7: key cannot be used: work/none.key: there is no such file`,
        `${file}:7: key is set and cert is not`,
        `${file}:8: compute_endpoint_override must be a URL with http or https, without a user name`,
      ].sort(),
    );
    expect(faults.join()).not.toContain('hunter2');
  });

  it('can name certificates and a key; a key of another certificate is a fault', () => {
    const authority = createAuthority(folder);
    const [one, other] = [authority.issue('one'), authority.issue('other')];
    write('work/one.pem', one.certificate);
    write('work/one.key', one.key);
    write('work/other.key', other.key);
    const text = (key: string) =>
      `${entry('a', 'https://a')}    cacert: ../root.pem\n    cert: one.pem\n    key: ${key}\n    verify: false\n`;
    write('work/clouds.yaml', text('one.key'));
    expect(read('a').tls).toEqual({ verify: false, ca: authority.root, cert: one.certificate, key: one.key });
    write('work/clouds.yaml', text('other.key'));
    expect(faultsOf('a')).toEqual([
      'work/clouds.yaml:12: cert cannot be used: OpenSSL rejects it, its key does not fit, or cacert is invalid',
    ]);
  });

  it('has the values of the selected region, which override the values of the entry', () => {
    const regions = [
      ...[
        '    regions:',
        '    - name: R1',
        '      values:',
        '        auth_url: http://one',
        '        interface: internal',
      ],
      ...['    - name: R2', '      values:', '        auth:', '          password: two', '    - R3', ''],
    ].join('\n');
    const readRegion = (first: string) => {
      write('work/clouds.yaml', `${entry('a', 'http://a')}${first}${regions}`);
      const { identityUrl, interface: accessed, region, credentials } = read('a');
      return [region, identityUrl, accessed, ...credentials.secrets];
    };
    expect(readRegion('')).toEqual(['R1', 'http://one/v3', 'internal', 'pass-word']);
    expect(readRegion('    region_name: R2\n')).toEqual(['R2', 'http://a/v3', 'public', 'two']);
    expect(readRegion('    region_name: R3\n')).toEqual(['R3', 'http://a/v3', 'public', 'pass-word']);
    write('work/clouds.yaml', `${entry('a', 'http://a')}    regions:\n    - name: R1\n      values: [1]\n`);
    expect(faultsOf('a')).toEqual(['work/clouds.yaml:13: values of region R1 must be a mapping']);
  });

  it('selects the first region of its list if region_name is absent', () => {
    write('work/clouds.yaml', `${entry('a', 'http://a')}    regions:\n    - name: R1\n      values: {}\n    - R2\n`);
    expect(read('a').region).toBe('R1');
  });
});
