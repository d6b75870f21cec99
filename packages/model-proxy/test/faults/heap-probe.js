/** Loaded before the proxy (`node --expose-gc --import`): on SIGUSR2 it collects what is garbage and says what is left, in bytes. */
process.on('SIGUSR2', () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, rss, external, arrayBuffers } = process.memoryUsage();
  process.stderr.write(`heap ${JSON.stringify({ heapUsed, rss, external, arrayBuffers })}\n`);
});
