import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { authProcedures, AuthType, saslData } from '../../src/protocol/auth.js';
import { FakeLibvirtd, HANG } from '../fake/fake-libvirtd.js';
import { failureOf } from '../fake/until.js';

const password = 'very secret';
let fake: FakeLibvirtd;
let uri: string;
beforeEach(async () => {
  fake = await FakeLibvirtd.start();
  fake.on(authProcedures.list, () => [AuthType.SASL]);
  fake.on(authProcedures.saslInit, () => 'SCRAM-SHA-256');
  const authfile = join(fake.dir, 'auth.conf');
  const lines = [
    '[credentials-a]',
    'authname=alice',
    `password=${password}`,
    '[auth-libvirt-default]',
    'credentials=a',
  ];
  await writeFile(authfile, `${lines.join('\n')}\n`);
  uri = `${fake.uri}&authfile=${authfile}`;
});
afterEach(() => fake.stop());

const reply = (complete: number, text: string) => ({ complete, ...saslData(text) });

/** Returns the nonce of a first message of the client. */
const nonceOf = (data: Uint8Array): string => /r=(.*)$/.exec(Buffer.from(data).toString())?.[1] ?? '';

/** Returns the error of a failed opening, and expects that it does not contain the password. */
async function refusal(): Promise<string> {
  const error = await failureOf(Hypervisor.open(uri, { connectTimeoutMs: 240_000 }));
  const text = JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error);
  expect(text).not.toContain(password);
  return text;
}

describe('a libvirtd that does not know the password', () => {
  it('cannot accept the client without a proof', async () => {
    fake.on(authProcedures.saslStart, () => reply(1, ''));
    expect(await refusal()).toContain('libvirtd accepts the client without a proof');
  });

  it.each(['', 'v=AAAA', 'e=invalid-proof', '\u0000'])('cannot end the exchange with "%s"', async (last) => {
    fake.on(authProcedures.saslStart, ({ data }) => reply(0, `r=${nonceOf(data)}x,s=AAAA,i=4096`));
    fake.on(authProcedures.saslStep, () => reply(1, last));
    expect(await refusal()).toContain('libvirtd does not prove that it knows the password');
  });

  it.each([
    ['another nonce', 'r=other,s=AAAA,i=4096', 'the first message of libvirtd is invalid'],
    ['garbage', '\u00ff\u0000', 'the first message of libvirtd is invalid'],
    ['too much data', 'x'.repeat(70_000), 'SASL data of 70000 bytes'],
  ])('makes the opening fail if it sends %s', async (_, first, why) => {
    fake.on(authProcedures.saslStart, () => reply(0, first));
    expect(await refusal()).toContain(why);
  });

  it('cannot make the client compute 900,000,000 iterations', async () => {
    fake.on(authProcedures.saslStart, ({ data }) => reply(0, `r=${nonceOf(data)}x,s=AAAA,i=900000000`));
    expect(await refusal()).toContain('libvirtd asks for 900000000 iterations');
  });

  it('cannot make the client send its password', async () => {
    fake.on(authProcedures.saslInit, () => 'PLAIN,LOGIN,CRAM-MD5,ANONYMOUS');
    fake.on(authProcedures.saslStart, () => reply(1, ''));
    expect(await refusal()).toContain('libvirtd offers PLAIN, LOGIN, CRAM-MD5, ANONYMOUS');
  });

  it('cannot keep the client waiting beyond its timeout', async () => {
    fake.on(authProcedures.saslStart, () => HANG);
    const error = await failureOf(Hypervisor.open(uri, { connectTimeoutMs: 200 }));
    expect(String(error)).toContain('no answer within 200 ms');
  });
});
