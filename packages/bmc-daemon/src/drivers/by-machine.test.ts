import { describe, expect, it } from '@jest/globals';
import { byMachine, matching, onlyMachine } from './by-machine.js';
import { DriverError } from './driver-error.js';

const one = { uuid: '27946b59-9e44-4fa7-8e91-f3527a1ef094', name: 'web' };
const two = { uuid: '3a1f2c84-5f0e-4a53-9a0d-6d6b4b5a7c11', name: 'web' };
const three = { uuid: '9c4f3d6e-0b2a-4c8d-8e7f-1a2b3c4d5e6f', name: one.uuid };

describe('looking up a machine', () => {
  it('finds the machine with a UUID in any case, not a machine that has this UUID as its name', () => {
    expect(matching([three, two, one], one.uuid.toUpperCase())).toEqual([one]);
    expect(onlyMachine([three, two, one], one.uuid)).toBe(one);
  });

  it('rejects a name that several machines have, and names their UUIDs', () => {
    expect(matching([one, two, three], 'web')).toEqual([one, two]);
    expect(() => onlyMachine([one, two, three], 'web')).toThrow(
      new DriverError(
        'notFound',
        `looking up machine web: several machines have this name, use a UUID: ${one.uuid}, ${two.uuid}`,
      ),
    );
  });

  it('rejects an unknown name', () => {
    expect(() => onlyMachine([one], 'db')).toThrow(
      new DriverError('notFound', 'looking up machine db: no such machine'),
    );
  });
});

describe('an object that forwards calls for one machine', () => {
  interface Control {
    readonly label: string;
    read(id: string, detail: string): Promise<string>;
  }
  const control: Control = { label: 'inner', read: (id, detail) => Promise.resolve(`${id} ${detail}`) };
  const wrapped = byMachine<Control>((id, call) => call(control, id.toUpperCase()), { label: 'outer' });

  it('forwards a method with the replaced id, and has the given members itself', async () => {
    expect(await wrapped.read('a', 'b')).toBe('A b');
    expect(wrapped.label).toBe('outer');
  });

  it('is not mistaken for a promise', async () => {
    expect(await Promise.resolve(wrapped)).toBe(wrapped);
  });
});
