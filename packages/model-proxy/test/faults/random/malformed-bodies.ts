/** Makes random invalid bodies of several kinds. */
import { gzipSync } from 'node:zlib';
import { PUBLIC_MODEL } from '../../harness/proxy.js';
import type { Random } from '../../../../daemon/test/support/random.js';

/** Maximum size of a body at the suite's proxy. */
export const MAX_BODY_BYTES = 2 ** 20;

/** A valid request with all kinds of values. */
export const WHOLE = `{"model": "${PUBLIC_MODEL}", "messages": [{"role": "user", "content": "a \\"b\\" \\\\ \\u00e9 é 😀 {[]}"}], "temperature": -1.5e-3, "n": 1, "stream": false, "stop": null, "logit_bias": {"50256": -100, "x": [true, [], {}]}}`;

/**
 * Bodies by kind. The proxy must reject each of them: invalid JSON, no object, no messages, or a
 * `model` that it does not accept. The proxy also rejects a `model` that occurs twice or has an
 * escaped name.
 */
export const malformedBodies: Readonly<Record<string, (random: Random) => Buffer>> = {
  'cut off anywhere': (random) => bytes(WHOLE).subarray(0, random.integer(Buffer.byteLength(WHOLE))),
  'a structural character put in anywhere': (random) =>
    broken(() => {
      const at = random.integer(WHOLE.length);
      return WHOLE.slice(0, at) + random.pick(['{', '}', '[', ']', ',', ':', '"', '\\', '\n']) + WHOLE.slice(at);
    }),
  'a character taken out anywhere': (random) =>
    broken(() => {
      const at = random.integer(WHOLE.length);
      return WHOLE.slice(0, at) + WHOLE.slice(at + 1);
    }),
  'a character changed anywhere': (random) =>
    broken(() => {
      const at = random.integer(WHOLE.length);
      return WHOLE.slice(0, at) + String.fromCharCode(random.integer(128)) + WHOLE.slice(at + 1);
    }),
  'two pieces swapped': (random) =>
    broken(() => {
      const [first = 0, second = 0] = [random.integer(WHOLE.length), random.integer(WHOLE.length)].toSorted(
        (a, b) => a - b,
      );
      return WHOLE.slice(second) + WHOLE.slice(first, second) + WHOLE.slice(0, first);
    }),
  'no object': (random) =>
    bytes(
      random.pick(['', ' ', '\r\n', '[]', '"text"', '0', 'null', 'true', '[{}]', `[${WHOLE}]`, 'NaN', 'undefined']),
    ),
  'two objects': (random) => bytes(WHOLE + random.pick(['', ' ', '\n', ',', '\u0000']) + WHOLE),
  'something after the object': (random) =>
    bytes(WHOLE + random.pick(['}', ']', 'x', '"', '\u0000', '\ufeff', '//', '/**/', ';', '\u00a0'])),
  'something before the object': (random) =>
    bytes(random.pick(['}', 'x', '\u0000', '\ufeff', '// c\n', '\u00a0', '\v', 'data: ']) + WHOLE),
  'a model that is not a string': (random) =>
    bytes(
      `{"messages": [], "model": ${random.pick(['null', '1', '-0.5', 'true', '{}', '[]', '["public-model"]', '{"model": "public-model"}'])}}`,
    ),
  'an unknown model': (random) =>
    bytes(
      JSON.stringify({
        model: random.pick([
          '',
          ' ',
          'nobody',
          'PUBLIC-MODEL',
          'public-model ',
          '../public-model',
          '__proto__',
          'constructor',
          '\u0000',
          'x'.repeat(5000),
        ]),
        messages: [],
      }),
    ),
  'no model': (random) =>
    bytes(
      random.pick([
        '{}',
        '{"messages": []}',
        '{"metadata": {"model": "public-model"}, "messages": []}',
        '{"Model": "public-model", "messages": []}',
      ]),
    ),
  'two models': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": [], ${random.pick(['"model"', '"mod\\u0065l"', '"\\u006dodel"'])}: "${random.pick([PUBLIC_MODEL, 'other'])}"}`,
    ),
  'a model with an escaped name': (random) =>
    bytes(
      `{${random.pick(['"mod\\u0065l"', '"\\u006D\\u006f\\u0064\\u0065\\u006c"', '"model\\u0000"'])}: "${PUBLIC_MODEL}", "messages": []}`,
    ),
  'no messages': () => bytes(`{"model": "${PUBLIC_MODEL}"}`),
  'an invalid number': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": [], "n": ${random.pick(['01', '1.', '.5', '+1', '-', '1e', '1e+', '0x10', 'NaN', 'Infinity', '-Infinity', '1_000', '--1', '1.2.3', '1e5.5', '١'])}}`,
    ),
  'an invalid literal': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": [], "stream": ${random.pick(['True', 'FALSE', 'nul', 'nulll', 'tru', "'yes'", 'undefined', '`x`', 'truefalse'])}}`,
    ),
  'an invalid string': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": [{"content": ${random.pick(['"\\x41"', '"\\u12G4"', '"\\u12"', '"\t"', '"a\nb"', '"\u0000"', '"\u001f"', '"unended', '"\\', '"\\U0041"', "'a'", '"a" "b"', '"a" + "b"'])}}]}`,
    ),
  'an extra or a missing comma or colon': (random) =>
    bytes(
      random.pick([
        '{"model": "public-model",}',
        '{,"model": "public-model"}',
        '{"model" "public-model"}',
        '{"model":: "public-model"}',
        '{"model": "public-model" "messages": []}',
        '{"model": "public-model",, "messages": []}',
        '{"model": "public-model", "messages": [,]}',
        '{"model": "public-model", "messages": [1,]}',
        '{model: "public-model"}',
        '{"model"}',
        '{"model":}',
        '{:"x"}',
        '{"model": "public-model", "messages": [1:2]}',
      ]),
    ),
  'brackets that do not match': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": ${random.pick(['[}', '{]', '[[]', '[]]', '[{]}', '([])', '[[[[[[[['])}}`,
    ),
  'very deep nesting': (random) =>
    bytes(
      `{"model": "${PUBLIC_MODEL}", "messages": ${random.pick(['[', '{"a":', '[{"a":']).repeat(1000 + random.integer(30_000))}`,
    ),
  'bytes that are not UTF-8': (random) =>
    Buffer.concat([
      bytes(`{"model": "${PUBLIC_MODEL}", "messages": [{"content": "`),
      // These bytes are lone, overlong, a surrogate, beyond Unicode, or incomplete.
      Buffer.from(
        random.pick([
          'ff',
          'fe',
          '80',
          'bf',
          'c0af',
          'c1bf',
          'e080af',
          'eda080',
          'edbfbf',
          'f08080af',
          'f4908080',
          'f5808080',
          'c3',
          'e282',
          'f09f98',
          'c328',
        ]),
        'hex',
      ),
      bytes('"}]}'),
    ]),
  'another encoding': (random) =>
    random.pick([
      Buffer.from(WHOLE, 'utf16le'),
      Buffer.from(`\ufeff${WHOLE}`, 'utf16le'),
      Buffer.from(WHOLE, 'utf16le').swap16(),
      Buffer.from(WHOLE, 'latin1'),
    ]),
  'another format': (random) =>
    bytes(
      random.pick([
        'model=public-model&messages=[]',
        '<model>public-model</model>',
        'model: public-model\nmessages: []\n',
        '--x\r\nContent-Disposition: form-data; name="model"\r\n\r\npublic-model\r\n--x--\r\n',
        "{'model': 'public-model'}",
        '{"model": "public-model", // why\n "messages": []}',
        'data: {"model": "public-model"}\n\n',
      ]),
    ),
  noise: (random) =>
    broken(() => Buffer.from(Array.from({ length: 1 + random.integer(2000) }, () => random.integer(256)))),
  'compressed without Content-Encoding': (random) => gzipSync(WHOLE.repeat(1 + random.integer(3))),
};

function bytes(text: string): Buffer {
  return Buffer.from(text, 'utf8');
}

/** Makes bodies until one is not JSON, and returns it. */
function broken(make: () => string | Buffer): Buffer {
  for (;;) {
    const made = make();
    try {
      JSON.parse(made.toString());
    } catch {
      return Buffer.from(made as string); // `made` is a string or bytes
    }
  }
}
