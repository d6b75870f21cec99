/** `racklessctl completion` */
import { readFileSync } from 'node:fs';
import { usageFailure } from '../failure.js';
import { defineCommand } from './command.js';

/** The scripts, in the folder `completions`. */
const scripts: Readonly<Record<string, string>> = {
  bash: 'racklessctl.bash',
  zsh: '_racklessctl',
  fish: 'racklessctl.fish',
};
const shells = Object.keys(scripts);

/** Prints the script that completes command lines in a shell. */
export const completionCommand = defineCommand({
  name: 'completion',
  summary: 'Print the script that completes command lines in a shell',
  description: [
    'The script asks racklessctl for commands, options, contexts and names of machines. racklessctl reads the names ' +
      'from the service, unless it would have to ask for a password.',
  ],
  arguments: [{ name: 'shell', summary: shells.join(', '), completes: shells }],
  examples: [
    {
      command: 'racklessctl completion bash >/etc/bash_completion.d/racklessctl',
      effect: 'installs the script for bash',
    },
    {
      command: 'racklessctl completion zsh >~/.zfunc/_racklessctl',
      effect: 'installs the script for zsh; ~/.zshrc needs fpath+=(~/.zfunc) before compinit',
    },
    {
      command: 'racklessctl completion fish >~/.config/fish/completions/racklessctl.fish',
      effect: 'installs the script for fish',
    },
  ],
  run: (call) => {
    const shell = call.argument('shell');
    const script = scripts[shell];
    if (script === undefined)
      throw usageFailure(`there is no completion for '${shell}', only for ${shells.join(', ')}`);
    call.terminal.print(readFileSync(new URL(`../../completions/${script}`, import.meta.url), 'utf8').trimEnd());
  },
});
