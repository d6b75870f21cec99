/** Starts a proxy with virtual keys in a store. Its master key is {@link MASTER}. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import type { Store } from '../../src/store/store.js';
import { call, type Answer } from '../harness/call.js';
import { json, serveApp, type ServedApp, type ServeOptions } from '../support/app.js';

export const MASTER = 'sk-master-0123456789';
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** A proxy with virtual keys. */
export interface KeyedApp extends ServedApp {
  readonly store: Store;
  /** The folder of the store. */
  readonly folder: string;
  /** Milliseconds since 1970 for the store. */
  readonly clock: { ms: number };
  /** Sends a management request with the master key, or with another key. */
  manage(method: string, path: string, body?: object, key?: string): Promise<Answer>;
  /** Creates a virtual key with these settings. @returns the key. @throws {Error} if the proxy rejects the settings. */
  create(settings?: object): Promise<string>;
  /** Sends a chat request. */
  chat(key: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

/** Starts a proxy, its store and its upstream. */
export async function serveKeys({ settings, ...options }: ServeOptions = {}): Promise<KeyedApp> {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-keys-'));
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const clock = { ms: Date.now() };
  const store = await openEmbeddedStore({ folder, log, keepDays: null, now: () => clock.ms });
  const app = await serveApp({
    ...options,
    settings: { clientKeys: new Set([MASTER]), ...settings },
    app: { ...options.app, store },
  });
  app.answering = json({ id: 'x', object: 'chat.completion', model: 'served/model', choices: [], usage });
  const manage = (method: string, path: string, body?: object, key = MASTER) =>
    call(app.url + path, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body }),
    });
  const closeApp = () => app.close();
  return {
    ...app,
    // The copy above contains only the current value of `answering`, so this getter and setter use the app's.
    get answering() {
      return app.answering;
    },
    set answering(answering) {
      app.answering = answering;
    },
    store,
    folder,
    clock,
    manage,
    create: async (members: object = {}) => {
      const answer = await manage('POST', '/key/generate', members);
      if (answer.status !== 200) throw new Error(answer.text);
      return (answer.json() as { key: string }).key; // The proxy sends this object.
    },
    chat: (key: string, body: object = {}, headers = {}) =>
      call(`${app.url}/v1/chat/completions`, {
        headers: { authorization: `Bearer ${key}`, ...headers },
        body: { model: 'public', messages: [{ role: 'user', content: 'Hello' }], ...body },
      }),
    close: async () => {
      await closeApp();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
