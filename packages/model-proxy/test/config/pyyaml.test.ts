/**
 * Compares our YAML reader with PyYAML, which LiteLLM uses: files that PyYAML reads must have the
 * same values here. Both read seeded samples in every style of YAML. RACKLESS_SEED repeats a
 * failing run.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import { toPlain } from '@rackless/daemon/yaml/yaml-node.js';
import { seededRandom, type Random } from '../../../daemon/test/support/random.js';

const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_261_123);
const SAMPLES = 1500;

/**
 * Reads a list of texts. Prints each value as JSON, or null if PyYAML rejects the text. Dates stay
 * strings, as in our reader.
 */
const PYTHON = `
import json, sys, yaml
class Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if not tag.endswith(':timestamp')]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
def key(value):
    return value if isinstance(value, str) else json.dumps(value)
def plain(value):
    if isinstance(value, dict): return {key(name): plain(member) for name, member in value.items()}
    if isinstance(value, list): return [plain(item) for item in value]
    return None if isinstance(value, float) and value in (float('inf'), float('-inf')) or value != value else value
def read(text):
    try: return {'value': plain(yaml.load(text, Loader))}
    except yaml.YAMLError: return None
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
`;

const scalars = [
  ...['1', '010', '0x1f', '1_000', '1.5', '.inf', '1e3', '1.0e+3', '12:30', '-7', '+1', '0o7', '1e-6'],
  ...['yes', 'off', 'True', 'null', '~', 'y', 'n', 'Null', 'on', '2024-06-01', '2024-06-01T10:00:00Z'],
  ...[
    'gpt-4',
    'os.environ/KEY',
    'http://127.0.0.1:1/v1',
    'a b  c',
    "it's",
    'x#y',
    'a:b',
    '=',
    '<',
    '.',
    '-',
    '*',
    '%',
    '@x',
  ],
  ...["''", '""', "'a''b'", '"a\\tb\\u00e9\\n"', '"a \\" b"', "'#'", '"yes"', "'010'", '!!str 12', '!!int "3"', ''],
];

class Writer {
  readonly #random: Random;
  #keys = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns a new key, because our reader reports a repeated key of a mapping as a fault. */
  #key(): string {
    this.#keys += 1;
    return this.#random.pick([
      `k${this.#keys}`,
      `k${this.#keys}`,
      `"k ${this.#keys}"`,
      `'k${this.#keys}'`,
      `${this.#keys}`,
    ]);
  }

  mapping(indent: number, depth: number): string {
    const pad = ' '.repeat(indent);
    return Array.from({ length: 1 + this.#random.integer(3) }, () => {
      const comment =
        this.#random.integer(5) === 0 ? this.#random.pick([`${pad}# comment\n`, '\n', '# at the margin\n']) : '';
      return `${comment}${pad}${this.#key()}:${this.#value(indent, depth)}`;
    }).join('');
  }

  /** Returns the text after the colon of a key, with its line ends. */
  #value(indent: number, depth: number): string {
    const random = this.#random;
    const deeper = indent + random.pick([1, 2, 2, 4]);
    const end = random.pick(['\n', '\n', '\n', '  # why\n', ' \n']);
    switch (random.integer(depth > 3 ? 4 : 8)) {
      case 0:
      case 1:
        return ` ${random.pick(scalars)}${end}`;
      case 2:
        return ` ${this.#quotedLines(indent)}${random.pick([end, '# why\n'])}`;
      case 3:
        return this.#block(deeper);
      case 4:
        return ` ${this.#flow(indent, depth + 1)}${random.pick([end, '#why\n'])}`;
      case 5: {
        const itemIndent = random.pick([indent, deeper]);
        const item = () => `${' '.repeat(itemIndent)}- ${this.mapping(itemIndent + 2, depth + 1).trimStart()}`;
        return `\n${item()}${item()}`;
      }
      default:
        return `\n${this.mapping(deeper, depth + 1)}`;
    }
  }

  #block(indent: number): string {
    const pad = ' '.repeat(indent);
    const mark = this.#random.pick(['|', '>', '|-', '>-', '|+', '>+']);
    return ` ${mark}\n${pad}one\n${this.#random.pick(['', '\n', `${pad}  more\n`])}${pad}two: #x\n`;
  }

  /** Returns a quoted text over several lines with any indentation. */
  #quotedLines(indent: number): string {
    const quote = this.#random.pick(['"', "'"]);
    return `${quote}one${this.#lineEnd(indent)}two${this.#lineEnd(indent)}three${quote}`;
  }

  #lineEnd(indent: number): string {
    return `\n${' '.repeat(this.#random.integer(indent + 5))}`;
  }

  #flow(indent: number, depth: number): string {
    const random = this.#random;
    const gap = () => (random.integer(2) === 0 ? ' ' : this.#lineEnd(indent));
    const inner = (): string =>
      depth < 5 && random.integer(3) === 0
        ? this.#flow(indent, depth + 1)
        : random.pick(['1', 'a', '"b c"', "'d'", 'yes', 'e f']);
    const last = random.integer(3) === 0 ? ',' : '';
    const comma = random.integer(4) === 0 ? ',# why\n' : ',';
    if (random.integer(2) === 0) return `[${gap()}${inner()}${comma}${gap()}${inner()}${last}${gap()}]`;
    return `{${gap()}${this.#key()}: ${inner()}${comma}${gap()}${this.#key()}:${gap()}${inner()}${last}${gap()}}`;
  }
}

/** Returns the value as JSON, or the faults. */
function read(text: string): unknown {
  const { root, faults } = parseYaml(text, 'config.yaml');
  return root === undefined ? faults : (JSON.parse(JSON.stringify(toPlain(root))) as unknown);
}

describe('a file that PyYAML reads', () => {
  const samples = Array.from({ length: SAMPLES }, (_, index) => new Writer(seededRandom(SEED + index)).mapping(0, 0));
  const input = JSON.stringify(samples);
  const output = execFileSync('/usr/bin/python3', ['-c', PYTHON], { input, encoding: 'utf8', maxBuffer: 1 << 26 });
  const expected = JSON.parse(output) as ({ readonly value: unknown } | null)[]; // the script prints this list

  it(`has the same values in our parser, in ${SAMPLES} seeded samples`, () => {
    const different = samples.flatMap((text, index) => {
      const wanted = expected[index];
      if (wanted === null || wanted === undefined) return [];
      const found = read(text);
      const isSame = JSON.stringify(found) === JSON.stringify(wanted.value);
      return isSame
        ? []
        : [{ seed: SEED + index, text, found: JSON.stringify(found), wanted: JSON.stringify(wanted.value) }];
    });
    expect(different.slice(0, 3)).toEqual([]);
    // Most samples must be valid YAML, otherwise the test proves nothing.
    expect(expected.filter((one) => one !== null).length).toBeGreaterThan(SAMPLES / 2);
  });
});
