import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { curlCommand } from './curl.js';

const origin = 'https://bmc.example';

/** Returns the arguments that a real shell passes to `curl`. */
function argumentsOf(command: string): readonly string[] {
  const script = `curl() { printf '%s\\n' "$@"; }; TOKEN=secret; PASSWORD=changed; ${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).split('\n').slice(0, -1);
}

describe('the curl command of an action', () => {
  it('passes a body with quotes, dollars and backslashes through a shell unchanged', () => {
    const body = { Name: `it's "$HOME" \`id\` \\ $(id)` };
    const args = argumentsOf(
      curlCommand({ method: 'PATCH', path: `/redfish/v1/Systems/a'b`, body }, { origin, hasToken: true }),
    );
    expect(args).toEqual([
      '-X',
      'PATCH',
      '-H',
      'X-Auth-Token: secret',
      '-H',
      'Content-Type: application/json',
      '-d',
      JSON.stringify(body),
      `${origin}/redfish/v1/Systems/a'b`,
    ]);
  });

  it('contains no password, even if it is part of a URL', () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQ';
    const body = {
      Password: "old's",
      CertificateString: key,
      Oem: { ClientSecret: 'hush' },
      Attributes: { SysPassword: 'x' },
      Image: 'https://user:pw@rd@images.example/a.iso',
    };
    const command = curlCommand({ method: 'POST', path: '/x', body }, { origin, hasToken: false });
    expect(command).not.toMatch(/old|pw|rd@|MHcCAQ|hush|X-Auth-Token/);
    expect(JSON.parse(argumentsOf(command)[5] ?? '')).toEqual({
      Password: 'changed',
      CertificateString: 'changed',
      Oem: { ClientSecret: 'changed' },
      Attributes: { SysPassword: 'changed' },
      Image: 'https://user:changed@images.example/a.iso',
    });
  });

  it('has no body for a DELETE, and a placeholder for the file of an upload', () => {
    expect(curlCommand({ method: 'DELETE', path: '/x', body: undefined }, { origin, hasToken: true })).toBe(
      `curl -X DELETE -H "X-Auth-Token: $TOKEN" 'https://bmc.example/x'`,
    );
    expect(curlCommand({ method: 'POST', path: '/x', body: new Blob(['a']) }, { origin, hasToken: false })).toContain(
      '--data-binary @FILE',
    );
  });
});
