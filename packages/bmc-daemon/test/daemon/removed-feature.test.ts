/**
 * Removes each feature from a copy of the sources, as a developer would, and uses the daemon that
 * remains.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { crawl, faultsOf } from '../contract/crawler.js';
import { daemonFixture, FAKE } from './fixture.js';

const run = promisify(execFile);
const repository = path.join(import.meta.dirname, '../../../..');
const source = path.join(repository, 'packages/bmc-daemon');
const compiler = path.join(repository, 'node_modules/typescript/bin/tsc');

/** Folder and name of each feature, and a URI that only it serves; null: the feature has no such URI. */
const features = [
  { folder: 'auth', name: 'accounts', uri: '/redfish/v1/AccountService' },
  { folder: 'certificates', name: 'certificates', uri: '/redfish/v1/CertificateService' },
  { folder: 'console', name: 'consoles', uri: '/redfish/v1/Systems/{uuid}/LogServices/ConsoleLog' },
  { folder: 'display', name: 'screens', uri: null },
  { folder: 'events', name: 'events', uri: '/redfish/v1/EventService' },
  { folder: 'manager-network', name: 'managerNetwork', uri: '/redfish/v1/Managers/{uuid}/NetworkProtocol' },
  { folder: 'ssdp', name: 'discovery', uri: null },
  { folder: 'telemetry', name: 'telemetry', uri: '/redfish/v1/TelemetryService' },
] as const;

const fixture = daemonFixture();
let copy = '';
/** The text of features.ts. */
let list = '';

beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'removed-feature-'));
  const at = path.join(copy, 'packages/bmc-daemon');
  const isTest = (file: string) => file.endsWith('.test.ts');
  cpSync(path.join(source, 'src'), path.join(at, 'src'), { recursive: true, filter: (file) => !isTest(file) });
  for (const name of ['bin', 'package.json']) cpSync(path.join(source, name), path.join(at, name), { recursive: true });
  symlinkSync(path.join(repository, 'node_modules'), path.join(copy, 'node_modules'));
  const compilerOptions = {
    ...{ rootDir: 'src', outDir: 'dist', composite: false, declaration: false, sourceMap: false },
    // For each further feature, the compiler checks only what has changed since the previous one.
    ...{ incremental: true, tsBuildInfoFile: 'tsconfig.tsbuildinfo' },
  };
  const config = { extends: path.join(repository, 'tsconfig.base.json'), compilerOptions, include: ['src/**/*.ts'] };
  writeFileSync(path.join(at, 'tsconfig.json'), JSON.stringify(config));
  list = readFileSync(path.join(at, 'src/features.ts'), 'utf8');
});
afterAll(() => rmSync(copy, { recursive: true }));

/**
 * Removes a feature, compiles the rest, and puts the feature back.
 * @returns the folder of the built package.
 */
async function buildWithout({ folder, name }: (typeof features)[number]): Promise<string> {
  const built = path.join(copy, 'packages/bmc-daemon');
  const sources = path.join(built, 'src');
  const lines = list.split('\n');
  const left = lines.filter((line) => !line.includes(`'./${folder}/feature.js'`) && line !== `  ${name},`);
  // The list loses two lines of the feature: its import and its entry.
  expect(lines.length - left.length).toBe(2);
  rmSync(path.join(built, 'dist', folder), { recursive: true, force: true });
  renameSync(path.join(sources, folder), path.join(built, 'removed'));
  writeFileSync(path.join(sources, 'features.ts'), left.join('\n'));
  try {
    // One thread checks the shared types only once. GOGC makes the compiler collect garbage less often.
    const env = { ...process.env, GOGC: '400' };
    await run(process.execPath, [compiler, '-p', built, '--singleThreaded'], { env }).catch((error: unknown) => {
      // The compiler writes its errors to stdout.
      throw new Error(`compiling without ${name}: ${String(Reflect.get(Object(error), 'stdout'))}`, { cause: error });
    });
  } finally {
    renameSync(path.join(built, 'removed'), path.join(sources, folder));
    writeFileSync(path.join(sources, 'features.ts'), list);
  }
  return built;
}

describe('a daemon without a feature', () => {
  it('is tested for each feature of the list', () => {
    const named = [...list.matchAll(/^import \{ (\w+) \} from '\.\/([\w-]+)\/feature\.js';$/gm)];
    const folders = readdirSync(path.join(source, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith(`${path.sep}feature.ts`))
      .map((file) => path.dirname(file));
    expect(named.map(([, name, folder]) => [folder, name]).sort()).toEqual(
      features.map(({ folder, name }) => [folder, name]).sort(),
    );
    expect(folders.sort()).toEqual(features.map(({ folder }) => folder).sort());
  });

  it.each(features)('compiles and serves machines without $name', async (feature) => {
    const built = await buildWithout(feature);
    const daemon = fixture.start(FAKE, { bin: path.join(built, 'bin') });
    const address = await daemon.address();
    const get = async (uri: string) => {
      const answer = await fetch(`${address}${uri}`);
      // The service sends objects.
      return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> };
    };

    const { body } = await get('/redfish/v1/Systems');
    const [first] = body['Members'] as readonly { readonly '@odata.id': string }[]; // Every collection has Members.
    const system = first?.['@odata.id'] ?? '';
    for (const [ResetType, PowerState] of [
      ['On', 'On'],
      ['ForceOff', 'Off'],
    ] as const) {
      const { status } = await fetch(`${address}${system}/Actions/ComputerSystem.Reset`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ ResetType }),
      });
      expect([status, (await get(system)).body]).toEqual([204, expect.objectContaining({ PowerState })]);
    }

    const found = await crawl(Number(new URL(address).port), {});
    expect(found.size).toBeGreaterThan(100);
    expect([...found.values()].flatMap((crawled) => faultsOf(crawled, found))).toEqual([]);
    if (feature.uri !== null) {
      const uri = feature.uri.replace('{uuid}', path.basename(system));
      expect([(await get(uri)).status, found.has(uri)]).toEqual([404, false]);
    }
    expect(daemon.messages('error')).toEqual([]);
    daemon.signal('SIGTERM');
    expect((await daemon.waitForExit()).code).toBe(0);
    if (feature.folder === 'auth') await expectFailedStart(path.join(built, 'bin'));
  });
});

/**
 * Expects that the daemon does not start with a password file: without accounts, it would be open to everyone.
 */
async function expectFailedStart(bin: string): Promise<void> {
  writeFileSync(fixture.at('users'), 'admin:$2y$04$0hxnz9bkZIMncnXv3EQ.yeZvFU9vlPkWUyVBgi99ssVla3nH69FIa\n');
  const env = { EMULATOR_AUTH_FILE: fixture.at('users') };
  const { code, stderr } = await fixture.start(FAKE, { bin, env }).waitForExit();
  expect([code, stderr]).toEqual([78, expect.stringContaining('this build has no accounts')]);
}
