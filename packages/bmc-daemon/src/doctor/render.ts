/** Renders a report for people, in a table that fits a terminal. */
import { styleText } from 'node:util';
import { plainLine, plainText, widthOf } from '@rackless/daemon/text/plain-text.js';
import type { HostFinding, DoctorReport } from './examine.js';

/** Properties of the terminal. */
interface RenderOptions {
  /** Width in columns. */
  readonly columns: number;
  readonly isColored: boolean;
}

const GAP = '  ';
/** Longer lines are hard to read. */
const MAX_COLUMNS = 120;
/** Minimum width of the column of messages. */
const MIN_TEXT = 30;
const colors = { problem: 'red', warning: 'yellow', note: 'cyan' } as const;

/** Returns the lines of the table, and a summary. Texts of hosts are escaped. */
export function renderDoctorReport(report: DoctorReport, { columns, isColored }: RenderOptions): string {
  const { findings, hosts } = report;
  const hasHosts = hosts.length > 1;
  const heads = findings.map((finding) => [
    finding.severity,
    ...(hasHosts ? [plainLine(finding.host ?? '-')] : []),
    finding.subject,
  ]);
  const titles = ['SEVERITY', ...(hasHosts ? ['HOST'] : []), 'SUBJECT'];
  const widths = titles.map((title, index) =>
    Math.max(widthOf(title), ...heads.map((cells) => widthOf(cells[index] ?? ''))),
  );
  const margin = widths.reduce((sum, width) => sum + width + GAP.length, 0);
  const textColumns = Math.max(MIN_TEXT, Math.min(columns, MAX_COLUMNS) - margin);
  const row = (cells: readonly string[]): string =>
    cells.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell)) + GAP).join('');
  const lines = findings.flatMap((finding, index) => {
    const color = (text: string): string =>
      isColored ? styleText(colors[finding.severity], text, { validateStream: false }) : text;
    const [severity = '', ...others] = heads[index] ?? [];
    const start = color(severity) + row([severity, ...others]).slice(severity.length);
    const [first = '', ...rest] = textLines(finding, textColumns);
    return [start + first, ...rest.map((line) => ' '.repeat(margin) + line)];
  });
  const table = findings.length === 0 ? [] : [`${row(titles)}FINDING`, ...lines, ''];
  return [...table, ...summary(report)].map((line) => `${line.trimEnd()}\n`).join('');
}

/** Returns the message, and the command after a prompt. */
function textLines({ message, fix }: HostFinding, columns: number): readonly string[] {
  return [...wrapped(plainLine(message), columns), ...(fix === null ? [] : wrappedCommand(plainText(fix), columns))];
}

/** Wraps a text at spaces. A longer word has its own line. */
function wrapped(text: string, columns: number): readonly string[] {
  return joined(text.split(' '), columns);
}

/**
 * Wraps a command between its words, so that a shell accepts the lines as one command. Each `&&`
 * ends a line.
 */
function wrappedCommand(command: string, columns: number): readonly string[] {
  const steps: string[][] = [[]];
  for (const word of wordsOf(command)) {
    steps.at(-1)?.push(word);
    if (word === '&&') steps.push([]);
  }
  const lines = steps.flatMap((words) => {
    // The prompt, the indentation and the backslash take two columns each.
    const wrappedStep = joined(words, columns - 6);
    return wrappedStep.map((line, index) => {
      const end = index < wrappedStep.length - 1 ? ' \\' : '';
      return `${index === 0 ? '' : '  '}${line}${end}`;
    });
  });
  return lines.map((line, index) => `${index === 0 ? '$' : ' '} ${line}`);
}

/** Splits a command at spaces outside of quotes. */
function wordsOf(command: string): readonly string[] {
  return command.match(/(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\])+/g) ?? [command];
}

function joined(words: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Returns the lines after the table: the number of findings, and what was examined. */
function summary({ findings, hosts, cloud }: DoctorReport): readonly string[] {
  const count = (severity: HostFinding['severity']): string => {
    const number = findings.filter((finding) => finding.severity === severity).length;
    return `${number} ${severity}${number === 1 ? '' : 's'}`;
  };
  const examined = hosts.map(({ name, libvirt, qemu }) => {
    const versions = [
      libvirt === null ? 'version unknown' : `libvirt ${libvirt}`,
      ...(qemu === null ? [] : [`QEMU ${qemu}`]),
    ];
    return `Examined the host ${plainLine(name)}: ${versions.join(', ')}.`;
  });
  return [
    `${count('problem')}, ${count('warning')}, ${count('note')}.`,
    ...examined,
    ...(cloud === null ? [] : [`Examined the cloud ${plainLine(cloud)}.`]),
  ];
}
