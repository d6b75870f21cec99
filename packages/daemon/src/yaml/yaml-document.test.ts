import { describe, expect, it } from '@jest/globals';
import { parseYaml } from './yaml-document.js';
import { nodeAt, toPlain } from './yaml-node.js';

/** Returns the value of a YAML text; if the text is faulty, each fault as `line: message`. */
function read(text: string): unknown {
  const { root, faults } = parseYaml(text, 'config.yaml');
  return root === undefined ? faults.map(({ line, message }) => `${line ?? '-'}: ${message}`) : toPlain(root);
}

/** Returns the line of the value at a path; undefined if the text is faulty. */
function lineOf(text: string, ...path: readonly (string | number)[]): number | undefined {
  const { root } = parseYaml(text, 'config.yaml');
  return root === undefined ? undefined : nodeAt(root, path).line;
}

describe('parsing YAML like LiteLLM', () => {
  it.each<[string, unknown]>([
    ['a: yes\nb: Off\nc: on\nd: NO\n', { a: true, b: false, c: true, d: false }],
    ['a: 010\nb: 0x1f\nc: 1_000\nd: 0b11\ne: 1:30\n', { a: 8, b: 31, c: 1000, d: 3, e: 90 }],
    ['a: 1.5\nb: .inf\nc: 6.0e+2\n', { a: 1.5, b: Infinity, c: 600 }],
    ['a: ~\nb:\nc: null\n', { a: null, b: null, c: null }],
    ['a: "yes"\nb: \'010\'\nc: !!str 010\nd: !!int "7"\n', { a: 'yes', b: '010', c: '010', d: 7 }],
    ['a: !!float 5\nb: !!float "1e3"\nc: !!float -1_0.5\nd: !!float .inf\n', { a: 5, b: 1000, c: -10.5, d: Infinity }],
    ['a: [-]\nb: {x: -}\nc: [-, -1,\n  -]\n', { a: ['-'], b: { x: '-' }, c: ['-', -1, '-'] }],
    ['a: 2024-06-01\nb: 2024-06-01T10:00:00Z\n', { a: '2024-06-01', b: '2024-06-01T10:00:00Z' }],
    ['1: a\nyes: b\n~: c\n', { '1': 'a', true: 'b', null: 'c' }],
    ['a: |\n  x\n  y\nb: >-\n  x\n  y\n', { a: 'x\ny\n', b: 'x y' }],
    ['a: {b: [1, {c: d}]}\r\n', { a: { b: [1, { c: 'd' }] } }],
    ['%YAML 1.1\n---\na: 1\n...\n', { a: 1 }],
    ['__proto__: {a: 1}\nconstructor: 2\n', JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}') as unknown],
  ])('reads %j', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it('merges mappings at <<: own keys override merged keys, and earlier mappings override later ones', () => {
    const text = [
      'x: &x {a: 1, b: 1}',
      'y: &y',
      '  b: 2',
      '  c: 2',
      'one: {<<: *x, b: own}',
      'two:',
      '  b: before',
      '  <<: [*x, *y]',
      'three: {"<<": 1}',
      'four: {<<: {d: 1}}',
      '',
    ].join('\n');
    expect(read(text)).toEqual({
      x: { a: 1, b: 1 },
      y: { b: 2, c: 2 },
      one: { a: 1, b: 'own' },
      two: { a: 1, b: 'before', c: 2 },
      three: { '<<': 1 },
      four: { d: 1 },
    });
    expect(lineOf(text, 'two', 'c')).toBe(4);
    expect(lineOf(text, 'two')).toBe(6);
  });

  it('adds the text of each number if keepsNumberText is set, also in merged mappings and aliases', () => {
    const text = 'x: &x {a: 0777, b: "08", c: !!int "0x10"}\ny: {<<: *x}\nz: *x\n';
    const { root } = parseYaml(text, 'config.yaml', { keepsNumberText: true });
    const sources = ['x', 'y', 'z'].map((name) =>
      ['a', 'b', 'c'].map((key) => {
        const node = root === undefined ? undefined : nodeAt(root, [name, key]);
        return node?.kind === 'scalar' ? [node.value, node.source] : undefined;
      }),
    );
    const numbers = [
      [511, '0777'],
      ['08', undefined],
      [16, '0x10'],
    ];
    expect(sources).toEqual([numbers, numbers, numbers]);
  });

  it('reports the line of every value: the line of its key in a mapping, or of the item in a list', () => {
    const text = '# first\nmodel_list:\n  - model_name: a\n    params:\n      model: |\n        x\n\n  - *none_yet\n';
    expect(lineOf(text)).toBeUndefined();
    const whole = text
      .replace('*none_yet', 'model_name: b\r\n    params: &p {}\r\n  - *p')
      .replace('|\n        x', 'x');
    expect(lineOf(whole, 'model_list')).toBe(2);
    expect(lineOf(whole, 'model_list', 0, 'params', 'model')).toBe(5);
    expect(lineOf(whole, 'model_list', 1, 'params')).toBe(8);
    expect(lineOf(whole, 'model_list', 2)).toBe(9);
  });
});

describe('a text', () => {
  it.each([
    ['', ['-: the file is empty']],
    ['# nothing\n\n', ['-: the file is empty']],
    ['---\n', ['-: the file is empty']],
    ['- a\n', ['1: the file must be a mapping, not a list']],
    ['\njust text\n', ['2: the file must be a mapping, not a single value']],
    ['a: 1\n---\nb: 2\n', ['2: there is more than one YAML document (---) in the file']],
    ['---\na: 1\n---\nb: 2\n', ['3: there is more than one YAML document (---) in the file']],
    ['a:\n\t- b\n', ['2: this is not valid YAML: tab characters must not be used in indentation']],
    ['a: b: c\n', ['1: this is not valid YAML: bad indentation of a mapping entry']],
    ['a: 1\nb: *nobody\n', ['2: this is not valid YAML: there is no anchor &nobody before *nobody']],
    ['a: &a\n  b: *a\n', ['2: this is not valid YAML: there is no anchor &a before *a']],
    ['a: !vault x\n', ['1: this is not valid YAML: unknown scalar tag !<!vault>']],
    ['a: !!python/dict {b: 1}\n', ['1: the tag !!python/dict is not known']],
    ['a: {b: 1}\n? [x]\n: 1\n', ['2: a key must be a single value, not a list or a mapping']],
    ['a:\n  <<: text\n', ['2: << needs a mapping, or a list of them']],
    [
      'a: 1\nb: {c: 1,\n  c: 2}\na: 3\n',
      [
        '3: c occurs twice in the same mapping, first on line 2',
        '4: a occurs twice in the same mapping, first on line 1',
      ],
    ],
  ])('is rejected if it is %j, with the number of the line if a line is wrong', (text, faults) => {
    expect(read(text)).toEqual(faults);
  });

  it('may have 500,001 lines, more than a function can have arguments', () => {
    expect(read(`${'# comment\n'.repeat(500_000)}a: 1\n`)).toEqual({ a: 1 });
  });

  it('may have 150,000 keys with values', () => {
    const members = Array.from({ length: 150_000 }, (_, index) => `k${index}: {}`);
    expect(parseYaml(members.join('\n'), 'config.yaml').faults).toEqual([]);
  });

  it('cannot fill the memory with merges', () => {
    const members = Array.from({ length: 50_000 }, (_, index) => `k${index}: 1`);
    const merges = Array.from({ length: 1000 }, (_, index) => `b${index}: {<<: *a}`);
    expect(read([`a: &a {${members.join(', ')}}`, ...merges].join('\n'))).toEqual([
      '-: this is not valid YAML: it has more than 200000 values, including the values of aliases',
    ]);
  });

  it('cannot fill the memory with aliases of aliases', () => {
    const lines = Array.from({ length: 12 }, (_, index) => {
      const values = Array.from({ length: 10 }, () => (index === 0 ? 'x' : `*a${index - 1}`));
      return `a${index}: &a${index} [${values.join(', ')}]`;
    });
    expect(read(lines.join('\n'))).toEqual([
      '-: this is not valid YAML: it has more than 200000 values, including the values of aliases',
    ]);
  });
});
