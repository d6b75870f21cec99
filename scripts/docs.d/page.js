/**
 * Runs the commands of one page in the namespaces of main.js: `node page.js REPOSITORY PAGE WORK
 * [SCRIPT]`, where SCRIPT is the script that started the run. Prints the first fault, and then ends with status 1.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FIXTURES } from './fixtures.js';
import { isRun, readPage } from './pages.js';
import { Service, Shell, linesToPaste, paste, patternOf } from './shell.js';

const [repository, path, work, script] = process.argv.slice(2);
const page = readPage(path);
const folder = join(work, 'folder');
const log = join(work, 'log');
const home = join(work, 'home');
for (const name of [folder, log, home]) mkdirSync(name);

// An HTTP error is a failure of curl here. By default, curl ignores it.
writeFileSync(join(home, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
const environment = {
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: home,
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  PYTHONDONTWRITEBYTECODE: '1',
};

/**
 * Returns each `$ command` of a block with its output. A line that ends with a backslash continues on the
 * next line.
 */
function commandsOf(text) {
  const commands = [];
  for (const line of text.split('\n')) {
    const last = commands.at(-1);
    if (line.startsWith('$ ')) commands.push({ command: line.slice(2), shown: [] });
    else if (last?.command.endsWith('\\') && last.shown.length === 0) last.command += `\n${line}`;
    else last.shown.push(line);
  }
  return commands.map(({ command, shown }) => ({ command, shown: shown.join('\n').trim() }));
}

const shell = () => (sessions.shell ??= new Shell(folder, environment, log));
const sessions = { shell: undefined, service: undefined, count: 0 };

/** Starts a service. Ends the previous service first, because the new one may need its port. */
async function startService(command) {
  await sessions.service?.interrupt();
  sessions.count += 1;
  sessions.service = new Service(command, folder, environment, join(log, `service-${sessions.count}`));
  return sessions.service;
}

/**
 * Starts each service with the variables that earlier blocks exported, waits until it listens, and sends Ctrl-C.
 * @returns the first fault; undefined if there is none.
 */
async function runServices(block) {
  for (const command of block.text.split('\n')) {
    const service = await startService(`if [ -e ${log}/exported ]; then . ${log}/exported; fi\n${command}`);
    if (!(await service.listens())) return `\`${command}\` does not listen at a port:\n${service.output}`;
    const status = await service.interrupt();
    // Allows 130 and SIGINT: Ctrl-C may arrive before the service handles signals.
    if (![0, 130, 'SIGINT'].includes(status))
      return `\`${command}\` ended with ${status} after Ctrl-C:\n${service.output}`;
  }
  return undefined;
}

async function runCommands(block) {
  const { succeeded, output } = await shell().run(block.text);
  return succeeded ? undefined : output;
}

async function runShown(block) {
  for (const { command, shown } of commandsOf(block.text)) {
    if (block.mode === 'service') {
      const service = await startService(command);
      if (!(await service.shows(shown)))
        return `the output of \`${command}\` does not begin with the lines of the page. It is:\n${service.output}`;
      continue;
    }
    const { succeeded, output } = await shell().run(command);
    if (!succeeded) return output;
    if (!new RegExp(`^${patternOf(shown)}$`).test(output.trim()))
      return `the output of \`${command}\` differs from the lines of the page. It is:\n${output}`;
  }
  return undefined;
}

async function runPaste(block) {
  const lines = linesToPaste(sessions.service?.output ?? '');
  if (lines.length === 0) return 'no service of this page has printed lines to paste';
  const fault = await paste(lines, block.text, folder, environment);
  return fault && `the terminal does not show \`${fault.missing}\`, but:\n${fault.text}`;
}

/** Runs a program in the page's folder, from which Node finds the packages of the repository. */
async function runJs(block) {
  writeFileSync(join(folder, 'example.mjs'), block.text);
  return runCommands({ text: `ln -sfn ${repository}/node_modules node_modules; node example.mjs` });
}

function runBlock(block) {
  if (block.mode === 'paste') return runPaste(block);
  if (block.language === 'js') return runJs(block);
  if (block.language === 'console') return runShown(block);
  return block.mode === 'service' ? runServices(block) : runCommands(block);
}

for (const name of page.fixtures) await FIXTURES[name]({ repository, folder, environment, log, script });
for (const block of page.blocks.filter((each) => isRun(each, script))) {
  const fault = await runBlock(block);
  if (fault === undefined) continue;
  console.log(`${path}:${block.line}: ${fault.trim().slice(-4000)}`);
  // The next blocks of the page may need this block.
  process.exit(1);
}
process.exit(0);
