/**
 * Defines the command line and runs its commands. Loads the code of a command only when it runs.
 */
import path from 'node:path';
import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { CommandOutput } from '@rackless/daemon/process/command-output.js';
import { exitCode as exitCodes } from '@rackless/daemon/process/exit-code.js';
import type { CheckOptions } from './cli/check.js';
import { addMachineCommands } from './cli/machine/commands.js';
import { configFileOf } from './config/environment.js';
import { loadSettings, type Flags, type LoadedSettings } from './config/load.js';
import { featureSets } from './resources/feature-set.js';
import { version } from './version.js';

/** The flags that commander has parsed. A flag that was not given is absent. */
interface GivenFlags {
  readonly config?: string;
  readonly interface?: string;
  readonly port?: string;
  readonly sslCertificate?: string;
  readonly sslKey?: string;
  readonly libvirtUri?: string;
  readonly osCloud?: string;
  readonly ironicCloud?: string;
  readonly fake?: boolean;
  readonly fakeMachines?: string;
  readonly featureSet?: string;
  readonly dmtfStrict?: boolean;
  readonly debug?: boolean;
}

function toFlags(given: GivenFlags): Flags {
  return {
    ...(given.interface === undefined ? {} : { listenIp: given.interface }),
    ...(given.port === undefined ? {} : { listenPort: given.port }),
    ...(given.sslCertificate === undefined ? {} : { sslCert: given.sslCertificate }),
    ...(given.sslKey === undefined ? {} : { sslKey: given.sslKey }),
    ...(given.libvirtUri === undefined ? {} : { libvirtUri: given.libvirtUri }),
    ...(given.osCloud === undefined ? {} : { osCloud: given.osCloud }),
    ...(given.ironicCloud === undefined ? {} : { ironicCloud: given.ironicCloud }),
    ...(given.fake === true ? { fakeDriver: true } : {}),
    ...(given.fakeMachines === undefined ? {} : { fakeMachines: given.fakeMachines }),
    ...(given.featureSet === undefined ? {} : { featureSet: given.featureSet }),
    ...(given.dmtfStrict === true ? { dmtfStrict: true } : {}),
    ...(given.debug === true ? { logLevel: 'debug' } : {}),
  };
}

const fileOf = (given: GivenFlags): string | undefined => given.config ?? configFileOf(process.env);

function load(given: GivenFlags): LoadedSettings {
  return loadSettings({
    file: fileOf(given),
    flags: toFlags(given),
    environment: process.env,
  });
}

/** Parses a time limit in seconds. @throws {InvalidArgumentError} unless it is above 0 and at most 3600. */
function toSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS))
    throw new InvalidArgumentError(`It must be a number above 0, and at most ${MAX_TIMEOUT_SECONDS}.`);
  return seconds;
}

const MAX_TIMEOUT_SECONDS = 3600;

/** Adds the flags that set settings: the daemon, `check` and `doctor` have them. */
function withSettings(command: Command): Command {
  return command
    .option('--config <file>', 'configuration file with Python assignments (environment variable: EMULATOR_CONFIG)')
    .option('-i, --interface <ip>', 'address to listen on')
    .option('-p, --port <number>', 'TCP port to listen on')
    .option('--ssl-certificate <file>', 'PEM certificate for HTTPS')
    .option('--ssl-key <file>', 'PEM key of the certificate')
    .option('--libvirt-uri <uri>', 'connection URI of the libvirt host')
    .option('--os-cloud <name>', 'OpenStack cloud whose servers are served')
    .option('--ironic-cloud <name>', 'OpenStack cloud for Ironic (not implemented)')
    .option('--fake', 'simulated machines in memory instead of libvirt')
    .option('--fake-machines <file>', 'YAML or JSON file with these machines')
    .option('--feature-set <name>', `resources to serve: ${featureSets.join(', ')}`)
    .option('--dmtf-strict', "send answers that pass DMTF's validators")
    .option('--debug', 'log at level debug');
}

/**
 * Runs one command. For the daemon, returns after a signal has stopped it, or if it cannot start.
 * @param argv as in `process.argv`.
 * @returns the exit code.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const output = new CommandOutput('bmc-daemon');
  return await output.finish(await run(argv, output));
}

async function run(argv: readonly string[], output: CommandOutput): Promise<number> {
  let exitCode: number = exitCodes.done;
  // The package also installs this program as `sushy-emulator`, for scripts that use that name.
  const name = path.parse(argv[1] ?? '').name === 'sushy-emulator' ? 'sushy-emulator' : 'bmc-daemon';
  const program = new Command(name)
    .description('A Redfish BMC for every virtual machine of a libvirt host.')
    .version(version, '--version', 'print the version')
    // An extra argument is an error, as is an unknown flag.
    .allowExcessArguments(false)
    // Flags after the name of a command, such as `check`, belong to this command.
    .enablePositionalOptions()
    .exitOverride();
  withSettings(program).action(async (given: GivenFlags) => {
    const { serve } = await import('./cli/serve.js');
    output.becomeLog();
    exitCode = await serve(() => load(given));
  });
  withSettings(program.command('check'))
    .description('print the faults of a configuration, and its effective settings')
    .option('--strict', 'reject unknown settings too (exit code 1)')
    .option('--quiet', 'print faults only')
    .action(async ({ strict = false, quiet = false, ...given }: GivenFlags & Partial<CheckOptions>) => {
      const { check } = await import('./cli/check.js');
      // Flags may also precede the command: `bmc-daemon --config FILE check`.
      exitCode = check(load({ ...program.opts<GivenFlags>(), ...given }), { strict, quiet });
    });
  withSettings(program.command('doctor'))
    .description('find problems of this host, its libvirt hosts or its cloud, with commands that fix them')
    .option('--json', 'print JSON for scripts')
    .option('--timeout <seconds>', 'time limit of each probe', toSeconds, 15)
    .action(async ({ json = false, timeout, ...given }: GivenFlags & { json?: boolean; timeout: number }) => {
      const { doctor } = await import('./cli/doctor.js');
      const flags = { ...program.opts<GivenFlags>(), ...given };
      exitCode = await doctor(load(flags), { json, timeoutMs: timeout * 1000, file: fileOf(flags) });
    });
  program
    .command('htpasswd')
    .description('add a user to a password file or change a password; prompts for the password')
    .argument('<file>', 'password file; created if it does not exist')
    .argument('<user>', 'user name')
    .action(async (file: string, user: string) => {
      const { htpasswd } = await import('./cli/htpasswd.js');
      exitCode = await htpasswd(file, user);
    });
  addMachineCommands(program, {
    load: (given) => load({ ...program.opts<GivenFlags>(), ...given }),
    exit: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    throw error;
  }
  return exitCode;
}
