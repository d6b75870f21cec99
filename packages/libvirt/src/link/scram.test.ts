import { describe, expect, it } from '@jest/globals';
import { failureOf } from '../../test/fake/until.js';
import { ScramExchange } from './scram.js';

// The example of RFC 7677 §3.
const clientNonce = 'rOprNGfwEbeRWgbNEkqO';
const nonce = `${clientNonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0`;
const serverFirst = `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`;
const user = { authname: 'user', password: 'pencil' };

describe('SCRAM-SHA-256', () => {
  it('computes and accepts the messages of the example in RFC 7677', async () => {
    const exchange = new ScramExchange(user, clientNonce);
    expect(exchange.first()).toBe(`n,,n=user,r=${clientNonce}`);
    expect(await exchange.answer(serverFirst)).toBe(`c=biws,r=${nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=`);
    expect(() => exchange.verify('v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=')).not.toThrow();
  });

  it('escapes the user name, and uses a new nonce in each exchange', () => {
    const [one, two] = [1, 2].map(() => new ScramExchange({ authname: 'a=b,c', password: 'x' }).first());
    expect(one).toMatch(/^n,,n=a=3Db=2Cc,r=[A-Za-z0-9+/]{32}$/);
    expect(one).not.toBe(two);
  });

  it.each([
    ['', 'first message of libvirtd is invalid'],
    ['e=other-error', 'first message of libvirtd is invalid'],
    [`r=${clientNonce},s=AAAA,i=4096`, 'first message of libvirtd is invalid'],
    ['r=someoneElse,s=AAAA,i=4096', 'first message of libvirtd is invalid'],
    [`m=ext,r=${nonce},s=AAAA,i=4096`, 'first message of libvirtd is invalid'],
    [`r=${nonce},s=,i=4096`, 'first message of libvirtd is invalid'],
    [`r=${nonce},s=AAAA,i=4095`, 'libvirtd asks for 4095 iterations'],
    [`r=${nonce},s=AAAA,i=999999999`, 'libvirtd asks for 999999999 iterations'],
  ])('rejects the first message "%s"', async (message, why) => {
    const error = await failureOf(new ScramExchange(user, clientNonce).answer(message));
    expect(String(error)).toContain(why);
    expect(String(error)).not.toContain('pencil');
  });

  it.each(['', 'v=', 'e=invalid-proof', 'v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=', 'v=AAAA'])(
    'rejects the last message "%s"',
    async (message) => {
      const exchange = new ScramExchange(user, clientNonce);
      await exchange.answer(serverFirst);
      expect(() => exchange.verify(message)).toThrow('libvirtd does not prove that it knows the password');
    },
  );

  it('rejects a last message if there was no first one', () => {
    expect(() => new ScramExchange(user, clientNonce).verify('v=')).toThrow('does not prove');
  });
});
