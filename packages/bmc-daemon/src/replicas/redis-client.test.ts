import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

it('the daemon loads the Redis client with the first connection, so it starts faster without Redis', async () => {
  // Runs in a separate process, because this process may have loaded the client already.
  const script = `
    import { createRequire } from 'node:module';
    const dist = (file) => import('${new URL('../../dist/', import.meta.url).href}' + file);
    const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/@redis/'));
    await dist('daemon.js');
    const before = isLoaded();
    const { connectRedis } = await import('@rackless/daemon/shared-store/redis-link.js');
    // No server listens on port 1.
    await connectRedis('redis://127.0.0.1:1').catch(() => undefined);
    console.log(JSON.stringify([before, isLoaded()]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(JSON.parse(stdout)).toEqual([false, true]);
});
