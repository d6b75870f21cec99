/** Parses YAML in another thread, so that a daemon serves its clients meanwhile. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { YamlDocument, YamlFault } from './yaml-document.js';
import { YamlBuilder, type YamlPart } from './yaml-parts.js';

/**
 * Parses a text as `parseYaml` does without options. The result has no `isEmpty`.
 * @param file name for messages.
 * @throws {Error} if the thread cannot start, or needs too much memory.
 */
export async function parseYamlBeside(text: string, file: string): Promise<YamlDocument> {
  const thread = new Worker(new URL('yaml-thread.js', import.meta.url), { workerData: { text, file } });
  // A thread that still parses must not delay the end of the process.
  thread.unref();
  try {
    // yaml-thread.ts first sends the faults, and then one part of the tree for each message `next`.
    const [faults] = (await once(thread, 'message')) as [readonly YamlFault[]];
    if (faults.length > 0) return { faults };
    const builder = new YamlBuilder(file);
    for (;;) {
      thread.postMessage('next');
      const [part] = (await once(thread, 'message')) as [YamlPart];
      const root = builder.add(part);
      if (root?.kind === 'mapping') return { root, faults };
    }
  } finally {
    await thread.terminate();
  }
}
