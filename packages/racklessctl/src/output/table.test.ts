import { describe, expect, it } from '@jest/globals';
import { widthOf } from '@rackless/daemon/text/plain-text.js';
import { renderTable, type Column } from './table.js';

const columns: readonly Column<readonly (string | number | null)[]>[] = [
  { title: 'NAME', value: ([name]) => name, canShrink: true },
  { title: 'CPUS', value: ([, cpus]) => cpus },
  { title: 'MODEL', value: ([, , model]) => model, canShrink: true },
];

describe('a table', () => {
  it('aligns texts, even if their characters are two columns wide', () => {
    const rows = [
      ['web-1', 4, 'x'],
      ['节点', 16, null],
    ];
    const { text, omitted } = renderTable(rows, columns);
    expect(text.split('\n')).toEqual(['NAME   CPUS  MODEL', 'web-1  4     x', '节点   16    -']);
    expect(omitted).toEqual([]);
  });

  it('fits the terminal, because it cuts the widest columns that may shrink', () => {
    const rows = [['a'.repeat(60), 4, 'b'.repeat(60)]];
    const lines = renderTable(rows, columns, 80).text.split('\n');
    expect(lines.map(widthOf)).toEqual([49, 80]);
    expect(lines[1]).toBe(`${'a'.repeat(35)}…  4     ${'b'.repeat(35)}…`);
  });

  it('renders 200,000 rows', () => {
    const rows = Array.from({ length: 200_000 }, (_, index) => [`m${index}`, 1, null]);
    expect(renderTable(rows, columns).text.split('\n')).toHaveLength(200_001);
  });

  it('omits its last columns if the terminal is too narrow for all columns', () => {
    const rows = [['a'.repeat(60), 4, 'b'.repeat(60)]];
    expect(renderTable(rows, columns, 24)).toEqual({
      text: `NAME      CPUS  MODEL\naaaaaaa…  4     bbbbbbb…`,
      omitted: [],
    });
    expect(renderTable(rows, columns, 23)).toEqual({
      text: `NAME               CPUS\n${'a'.repeat(16)}…  4`,
      omitted: ['MODEL'],
    });
    expect(renderTable(rows, columns, 5)).toEqual({ text: 'NAME\naaaa…', omitted: ['CPUS', 'MODEL'] });
  });
});
