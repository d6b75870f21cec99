/**
 * Starts the sample upstream: `node main.js --folder DIR [--port N] [--host ADDRESS] [--api-key KEY]
 * [--token-ms N] [--model NAME]…`.
 */
import { mkdir } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createAuthority } from './certificates.js';
import { SAMPLE_MODEL, startSampleUpstream } from './server.js';

const { values } = parseArgs({
  options: {
    folder: { type: 'string' },
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    'api-key': { type: 'string' },
    'token-ms': { type: 'string', default: '30' },
    model: { type: 'string', multiple: true, default: [SAMPLE_MODEL] },
  },
});
if (values.folder === undefined)
  throw new Error('starting the sample upstream: --folder DIR is missing. The sample stores its certificates there');
await mkdir(values.folder, { recursive: true });
const authority = await createAuthority(values.folder);
const upstream = await startSampleUpstream({
  tls: await authority.issue('server', { hosts: ['localhost', '127.0.0.1', values.host] }),
  apiKey: values['api-key'] ?? null,
  host: values.host,
  port: Number(values.port),
  models: values.model,
  tokenMs: Number(values['token-ms']),
});
console.log(`serving ${upstream.apiBase} with the authority ${authority.caFile}`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void upstream.close());
