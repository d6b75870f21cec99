import { describe, expect, it } from '@jest/globals';
import { deploymentAt, settingsOf } from '../test/support/app.js';
import { ConfigError, type LoadedConfig } from './config/load.js';
import { replaceConfig } from './reload.js';

const configOf = (name: string): LoadedConfig => {
  const proxy = settingsOf([deploymentAt('http://127.0.0.1:9/v1', { modelName: name })]);
  return { proxy, warnings: [], watchedFiles: [`${name}.yaml`] } as unknown as LoadedConfig; // without the settings of the listener
};

/** Runs a reload from `old` to `new`, and records what happens. `prepare` gets a function that stops the proxy. */
async function reloadWith(prepare: (close: () => void) => Promise<() => void>) {
  const seen: string[] = [];
  let isClosed = false;
  const note = (message: string) => void seen.push(message);
  await replaceConfig({
    current: () => configOf('old'),
    load: () => Promise.resolve(configOf('new')),
    // A reload uses only these methods.
    log: { info: note, error: note, warn: note } as unknown as Parameters<typeof replaceConfig>[0]['log'],
    watch: { mark: () => undefined, replace: (files) => note(`watch ${files.join()}`), close: () => undefined },
    isClosed: () => isClosed,
    prepare: () => prepare(() => (isClosed = true)),
  });
  return { seen };
}

describe('a reload', () => {
  it('uses the new configuration only after its preparation', async () => {
    const order: string[] = [];
    const { seen } = await reloadWith(async () => {
      await Promise.resolve();
      order.push('prepared');
      return () => void order.push('used');
    });
    expect([order, seen]).toEqual([
      ['prepared', 'used'],
      ['watch new.yaml', 'configuration reloaded'],
    ]);
  });

  it('uses nothing if its preparation fails, and watches the files of both configurations', async () => {
    const { seen } = await reloadWith(() => Promise.reject(new ConfigError(['a fault'], [], ['new.yaml'])));
    expect(seen).toEqual([
      'reloading: a fault',
      'reloading the configuration failed: the old one stays in use',
      'watch old.yaml,new.yaml',
    ]);
  });

  it('uses nothing if the proxy stops during the preparation', async () => {
    let used = false;
    const { seen } = await reloadWith((close) => {
      close();
      return Promise.resolve(() => void (used = true));
    });
    expect([used, seen]).toEqual([false, []]);
  });
});
