/**
 * Random values from a seed (mulberry32). The same seed and salt give the same values in the same order. An attack with
 * requests at the same time may use the values in another order.
 */

/**
 * Makes a generator.
 * @param seed an integer, of which only the lowest 32 bits count.
 * @param salt a text, so that each attack has its own values.
 */
export function seededRandom(seed, salt) {
  let state = [...salt].reduce((sum, letter) => Math.imul(sum ^ letter.codePointAt(0), 16777619), seed | 0);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  /** Returns an integer from 0 to `below` - 1. */
  const integer = (below) => Math.floor(next() * below);
  const pick = (list) => list[integer(list.length)];
  return {
    integer,
    pick,
    /** Returns true with the probability 1/`count`. */
    oneIn: (count) => integer(count) === 0,
    bytes: (length) => Buffer.from(Array.from({ length }, () => integer(256))),
    /** Returns the list in another order. */
    shuffle: (list) =>
      list
        .map((value) => ({ value, order: next() }))
        .toSorted((left, right) => left.order - right.order)
        .map(({ value }) => value),
  };
}

/** Texts that are inserted: parts of HTTP's syntax. */
const noise = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  '\xff',
  '%00',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
];

/** Functions that change bytes at an offset: cut, delete, replace and insert. The last function repeats all bytes. */
const changes = [
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, { integer }) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + integer(8))]),
  (bytes, at, { pick, integer }) => {
    const copy = Buffer.from(bytes);
    copy[at] = pick([0, 9, 10, 13, 32, 58, 127, 128, 255, integer(256)]);
    return copy;
  },
  (bytes, at, { pick }) =>
    Buffer.concat([bytes.subarray(0, at), Buffer.from(pick(noise), 'latin1'), bytes.subarray(at)]),
  (bytes, at, { bytes: make, integer }) =>
    Buffer.concat([bytes.subarray(0, at), make(integer(40)), bytes.subarray(at)]),
  (bytes) => Buffer.concat([bytes, bytes]),
];

/**
 * Returns the latin1 bytes of the text, with one to three changes. Two of three changes are in the first 300 bytes,
 * because heads have the most syntax.
 */
export function mutate(text, random) {
  let bytes = Buffer.from(text, 'latin1');
  for (let left = 1 + random.integer(3); left > 0; left -= 1) {
    const reach = random.oneIn(3) ? bytes.length : Math.min(bytes.length, 300);
    bytes = random.pick(changes)(bytes, random.integer(reach + 1), random);
  }
  return bytes;
}
