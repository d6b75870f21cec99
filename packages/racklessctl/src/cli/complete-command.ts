/** `racklessctl __complete -- words…`: the scripts of shells call it to complete a command line. */
import { Call, type CommandDefinition } from '../commands/command.js';
import { configFile, withAllMachines } from '../commands/remote.js';
import { readContexts } from '../contexts/context-file.js';
import { CommandFailure } from '../failure.js';
import { groupByKeys } from '../machines/by-key.js';
import { namesOf, summaryOf } from '../machines/machine.js';
import { powerText } from '../machines/power.js';
import type { Terminal } from '../output/terminal.js';
import { complete, type Candidate } from './complete.js';

/** Time limit, because the shell waits while racklessctl reads the names of machines. */
const MAX_MS = 4000;

/**
 * Prints the candidates, one on each line: the word, a tab, and its meaning. `:files` stands for
 * names of files.
 */
export async function printCandidates(
  words: readonly string[],
  commands: readonly CommandDefinition[],
  terminal: Terminal,
): Promise<void> {
  const signal = AbortSignal.timeout(MAX_MS);
  const callWith = (options: Readonly<Record<string, string | true>>): Call =>
    new Call({ terminal, environment: process.env, signal, arguments: new Map(), options });
  const candidates = await complete(words, commands, {
    contexts: () =>
      [...readContexts(configFile(callWith({}))).contexts].map(([value, { url }]) => ({ value, summary: url ?? '' })),
    machines: (options) => machineNames(callWith({ timeout: String(MAX_MS / 1000), ...options })),
  });
  terminal.printTabbed(candidates === 'files' ? [[':files']] : candidates.map(rowOf));
}

const rowOf = ({ value, summary }: Candidate): readonly string[] => (summary === '' ? [value] : [value, summary]);

async function machineNames(call: Call): Promise<readonly Candidate[]> {
  try {
    return await withAllMachines(call, ({ machines }) => {
      const byName = groupByKeys(machines, (machine) => new Set(namesOf(machine).map((name) => name.toLowerCase())));
      return machines.map((machine) => {
        const { name, uuid, id } = machine;
        const isUnique = byName.get(name.toLowerCase())?.length === 1;
        return { value: isUnique ? name : (uuid ?? id), summary: powerText(summaryOf(machine)) ?? '' };
      });
    });
  } catch (error) {
    // A completion prints no errors. The command itself prints them later.
    if (error instanceof CommandFailure || call.signal.aborted) return [];
    throw error;
  }
}
