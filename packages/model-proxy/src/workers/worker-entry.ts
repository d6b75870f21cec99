/**
 * The first file of a worker process. It sets handlers that ignore signals before it loads the code of the worker,
 * because a signal without a handler ends a process.
 */

// systemd and terminals send signals to all processes of the service. The first process decides.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
await import('./worker.js');
