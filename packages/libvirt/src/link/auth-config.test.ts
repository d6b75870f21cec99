import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { failureOf } from '../../test/fake/until.js';
import { parseUri } from '../uri.js';
import { readCredentials, type Credentials } from './auth-config.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-auth-'));
});
afterEach(() => rm(dir, { recursive: true }));

/** Returns the text of a file with the user `alice` and this password for all hosts. */
const file = (password: string): string =>
  `# comment\n[credentials-lab]\nauthname=alice\npassword=${password}\n[auth-libvirt-default]\ncredentials=lab\n`;

/** Writes the files into `dir`, and reads the credentials for a URI. The user's home folder is `home` in `dir`. */
async function read(
  files: Readonly<Record<string, string>>,
  options: { readonly uri?: string; readonly variables?: Readonly<Record<string, string>> } = {},
): Promise<Credentials> {
  const { uri = 'qemu+tls://host/system', variables = {} } = options;
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  const home = join(dir, 'home');
  return await readCredentials(parseUri(uri), { variables, home, systemFile: join(dir, 'etc/auth.conf') });
}

describe('the credentials of auth.conf', () => {
  it('come from the file of the URI, else of the environment, else of the user, else of the host', async () => {
    const files = {
      uri: file('1'),
      env: file('2'),
      'home/.config/libvirt/auth.conf': file('3'),
      'etc/auth.conf': file('4'),
    };
    const variables = { LIBVIRT_AUTH_FILE: join(dir, 'env') };
    const uri = `qemu+tls://host/system?authfile=${join(dir, 'uri')}`;
    const found = [
      await read(files, { uri, variables }),
      await read(files, { variables }),
      await read(files),
      await read({ 'etc/auth.conf': file('4') }, { variables: { XDG_CONFIG_HOME: join(dir, 'none') } }),
    ];
    expect(found.map(({ password }) => password)).toEqual(['1', '2', '3', '4']);
  });

  it('are in the section of the host or the default one; a password may have = ; # [ ] and a final space', async () => {
    const text =
      '[credentials-a]\nauthname=a\npassword= p=1;#[x] \r\n[credentials-b]\nusername=b\npassword=2\n' +
      '[auth-libvirt-host]\ncredentials=a\n[auth-libvirt-default]\ncredentials=b\n';
    const files = { 'etc/auth.conf': text };
    expect(await read(files)).toEqual({ authname: 'a', password: 'p=1;#[x] ' });
    expect(await read(files, { uri: 'qemu+tls://other/system' })).toEqual({ authname: 'b', password: '2' });
  });

  it('have the user name of the URI if the file has none, and are rejected if the two names differ', async () => {
    const files = { 'etc/auth.conf': file('secret').replace('authname=alice\n', '') };
    expect(await read(files, { uri: 'qemu+tls://bob@host/system' })).toEqual({ authname: 'bob', password: 'secret' });
    const error = await failureOf(read({ 'etc/auth.conf': file('secret') }, { uri: 'qemu+tls://bob@host/system' }));
    expect(error).toHaveProperty(
      'message',
      `the URI names the user "bob", but [credentials-lab] of ${dir}/etc/auth.conf is for "alice"`,
    );
  });

  it.each([
    ['password=secret', 'has no "credentials" in [auth-libvirt-host] or [auth-libvirt-default]'],
    ['[auth-libvirt-host]\ncredentials=lab', 'has no section [credentials-lab]'],
    [file('secret').replace('authname=alice\n', ''), 'has no "authname" in [credentials-lab]'],
    [file('secret').replace('password=secret\n', ''), 'has no "password" in [credentials-lab]'],
  ])('are missing in %j, and the error has no password', async (text, why) => {
    const message = String(await failureOf(read({ 'etc/auth.conf': text })));
    expect(message).toContain(why);
    expect(message).not.toContain('secret');
  });

  it('are missing if no file exists, and the error names the files', async () => {
    expect(await failureOf(read({}))).toHaveProperty(
      'message',
      `no user name and password: there is no ${dir}/home/.config/libvirt/auth.conf and no ${dir}/etc/auth.conf`,
    );
  });
});
