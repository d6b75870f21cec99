/**
 * Node loads this file before the proxy (`node --expose-gc --import`). On SIGUSR2, the process runs the garbage
 * collector and prints the used bytes.
 */
process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
  process.stderr.write(`heap ${JSON.stringify({ heapUsed, rss, external, arrayBuffers })}\n`);
});
