/** The program of the thread that `parse-beside.ts` starts: parses a text, and sends the tree in parts. */
import { parentPort, workerData } from 'node:worker_threads';
import { parseYaml } from './yaml-document.js';
import { yamlParts } from './yaml-parts.js';

// parse-beside.ts, which starts this thread, passes these two strings.
const { text, file } = workerData as { readonly text: string; readonly file: string };
const { root, faults } = parseYaml(text, file);
const parts = root === undefined ? null : yamlParts(root);
// Each message from parse-beside.ts requests the next part, so parse-beside.ts never receives two parts at once.
parentPort?.on('message', () => parentPort?.postMessage(parts?.next().value));
parentPort?.postMessage(faults);
