/** `racklessctl context` */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { checkUrl } from '../contexts/connection.js';
import { changeContexts, readContexts, type Context } from '../contexts/context-file.js';
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { defineCommand, type Call } from './command.js';
import { printRows } from './print-rows.js';
import { configFile } from './remote.js';

const nameArgument = { name: 'name', summary: 'name of the context', completes: 'contexts' } as const;

function missingFailure(call: Call, name: string): CommandFailure {
  return new CommandFailure(exitCode.noMatch, `${configFile(call)} has no context '${name}'`);
}

/** Says where the context has its password, without the password; undefined if the context names no place. */
function passwordPlace(context: Context): string | undefined {
  if (context.password !== undefined) return 'in the file';
  if (context['password-file'] !== undefined) return `file ${context['password-file']}`;
  return context['password-command'] === undefined ? undefined : 'command';
}

const listContexts = defineCommand({
  name: 'list',
  summary: 'List the contexts',
  options: [{ name: 'json', summary: 'print JSON' }],
  run: (call) => {
    const { contexts, current } = readContexts(configFile(call));
    const rows = [...contexts].map(([name, { url, user, ca, insecure, ...rest }]) => ({
      name,
      current: name === current,
      url,
      user,
      password: passwordPlace(rest),
      ca,
      insecure: insecure ?? false,
      auth: rest.auth ?? 'session',
    }));
    printRows(
      call,
      rows,
      [
        { title: ' ', value: (row) => (row.current ? '*' : ' ') },
        { title: 'NAME', value: (row) => row.name, canShrink: true },
        { title: 'URL', value: (row) => row.url, canShrink: true },
        { title: 'USER', value: (row) => row.user, canShrink: true },
        { title: 'PASSWORD', value: (row) => row.password, canShrink: true },
      ],
      { none: `${configFile(call)} has no contexts.` },
    );
  },
});

const useContext = defineCommand({
  name: 'use',
  summary: 'Select the context that commands use without --context',
  arguments: [nameArgument],
  run: async (call) => {
    const name = call.argument('name');
    await changeContexts(configFile(call), ({ contexts }) => {
      if (!contexts.has(name)) throw missingFailure(call, name);
      return { contexts, current: name };
    });
    call.terminal.print(`${name} is the current context`);
  },
});

const setContext = defineCommand({
  name: 'set',
  summary: 'Add or change a context',
  description: [
    'Options that are not given keep their value. A new place of the password replaces the old place. ' +
      'If no context is current, this context becomes the current one.',
  ],
  arguments: [nameArgument],
  options: [
    { name: 'url', value: 'url', summary: 'address of the service' },
    { name: 'user', letter: 'u', value: 'name', summary: 'user to log in as' },
    { name: 'password-file', value: 'file', summary: 'file with the password in its first line', completes: 'files' },
    { name: 'password-command', value: 'command', summary: 'command that prints the password' },
    { name: 'ca', value: 'file', summary: 'authorities to trust, as a PEM file', completes: 'files' },
    { name: 'insecure', summary: 'accept any certificate of the service' },
    { name: 'secure', summary: 'verify the certificate of the service' },
    { name: 'auth', value: 'method', summary: 'session or basic', completes: ['session', 'basic'] },
  ],
  examples: [
    {
      command: 'racklessctl context set lab --url https://192.0.2.1:8000 --user admin --ca ca.pem',
      effect: 'stores a service; commands ask for the password',
    },
    {
      command:
        "racklessctl context set rack1-07 --url https://10.1.0.7 -u root --password-command 'pass rack1/07' --insecure",
      effect: 'a real BMC with a password manager and a self-signed certificate',
    },
  ],
  run: async (call) => {
    const file = configFile(call);
    const name = call.argument('name');
    // A context with the exact name has precedence over a pattern. So a context named `rack1-*` would
    // hide all other contexts that this pattern matches.
    if (!/^[\w.@:-]+$/.test(name)) throw usageFailure(`'${name}' is not a valid name: use letters, digits and ._@:-`);
    await changeContexts(file, ({ contexts, current }) => {
      const context = changedContext(call, contexts.get(name) ?? {});
      checkUrl(context.url, `context ${name}: `);
      return { current: current ?? name, contexts: new Map([...contexts, [name, context]]) };
    });
    call.terminal.print(`context ${name} stored in ${file}`);
  },
});

function changedContext(call: Call, old: Context): Context {
  if (call.flag('insecure') && call.flag('secure')) throw usageFailure('--insecure and --secure exclude each other');
  const auth = call.choice('auth', ['session', 'basic']);
  const texts = (['url', 'user', 'password-command'] as const).flatMap((key) => {
    const value = call.text(key);
    return value === undefined ? [] : [[key, value] as const];
  });
  // Stores absolute paths, because later commands may run in other folders.
  const files = (['password-file', 'ca'] as const).flatMap((key) => {
    const value = call.text(key);
    if (value === undefined) return [];
    if (!existsSync(value)) throw usageFailure(`--${key}: there is no file '${value}'`);
    return [[key, path.resolve(value)] as const];
  });
  const given = Object.fromEntries([...texts, ...files]) as Context; // the keys above are keys of a context
  const rest = withoutPassword(old);
  const keepsPassword = given['password-file'] === undefined && given['password-command'] === undefined;
  return {
    ...(keepsPassword ? old : rest),
    ...given,
    ...(auth === undefined ? {} : { auth }),
    ...(call.flag('insecure') ? { insecure: true } : {}),
    ...(call.flag('secure') ? { insecure: false } : {}),
  };
}

function withoutPassword(context: Context): Context {
  const keys = ['password', 'password-file', 'password-command'];
  return Object.fromEntries(Object.entries(context).filter(([key]) => !keys.includes(key)));
}

const removeContext = defineCommand({
  name: 'remove',
  summary: 'Remove a context',
  arguments: [nameArgument],
  run: async (call) => {
    const name = call.argument('name');
    await changeContexts(configFile(call), ({ contexts, current }) => {
      const others = new Map(contexts);
      if (!others.delete(name)) throw missingFailure(call, name);
      return { contexts: others, current: current === name ? undefined : current };
    });
    call.terminal.print(`context ${name} removed`);
  },
});

/** Lists, selects, adds, changes and removes contexts. */
export const contextGroup = defineCommand({
  name: 'context',
  summary: 'Store the services that you work with, and select one',
  description: [
    'A context is a service with its user and the place of its password. The file of the contexts is YAML. ' +
      'Each context may have the keys url, user, password, password-file, password-command, ca, insecure and auth. ' +
      'If a context has the key password, only the owner may have access to the file (mode 0600).',
  ],
  commands: [listContexts, useContext, setContext, removeContext],
});
