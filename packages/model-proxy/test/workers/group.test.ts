/** `--num_workers`: the start, the signals, the reload and the end of a group of workers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { freePort } from '../../../daemon/test/support/free-port.js';
import { call, open } from '../harness/call.js';
import { waitFor } from '../harness/wait.js';
import { LOCAL } from '../daemon/fixture.js';
import { childrenOf, groupFixture, MASTER, type Group } from './fixture.js';

const { heldAnswers, complete, configuration, startGroup, run, write, start, failWith, requestCount } = groupFixture();

const DIST = path.join(import.meta.dirname, '../../dist');
const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);
const until = (isReached: () => boolean, what: string) =>
  waitFor(
    () => (isReached() ? true : undefined),
    () => what,
  );
const hold = async (group: Pick<Group, 'url'>, content = 'wait') => {
  const before = heldAnswers.length;
  const answer = open(`${group.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${MASTER}` },
    body: { model: 'm', messages: [{ role: 'user', content }] },
  });
  await until(() => heldAnswers.length > before, 'no request came to the upstream');
  return { answer };
};

describe('a group of workers', () => {
  it('MP-134 serves one port with several processes, whose log lines have the number of the worker', async () => {
    const group = await startGroup(configuration());
    expect(group.workers()).toHaveLength(2);
    for (const connection of await group.connectToAll(2)) expect((await connection.chat(MASTER)).status).toBe(200);
    const line = '"path":"/v1/chat/completions","status":200,.*"worker":';
    await group.process.waitForOutput(new RegExp(`${line}1\\}`));
    await group.process.waitForOutput(new RegExp(`${line}2\\}`));
  });

  it('MP-134 drains all workers after SIGTERM, and exits once with 0', async () => {
    const group = await startGroup(configuration());
    const workers = group.workers();
    const first = await hold(group);
    const second = await hold(group);
    for (const pid of [group.process.pid ?? 0, ...workers]) process.kill(pid, 'SIGTERM');
    await group.process.waitForOutput(/SIGTERM: stopping/);
    await delay(200);
    expect(workers.every(isRunning)).toBe(true);
    for (const response of heldAnswers.splice(0)) complete(response);
    expect([(await first.answer).status, (await second.answer).status]).toEqual([200, 200]);
    expect(await group.process.waitForExit()).toBe(0);
    expect(workers.some(isRunning)).toBe(false);
    expect(group.process.output.match(/stopping/g)).toHaveLength(1);
  });

  it('MP-134 completes and counts requests also if SIGTERM arrives before all workers have started', async () => {
    // Node runs this file in each process before the program. The second worker waits until the group stops.
    const slow = write(
      'slow.mjs',
      `import cluster from 'node:cluster';
      import { existsSync } from 'node:fs';
      const wait = new Int32Array(new SharedArrayBuffer(4));
      while (cluster.worker?.id === 2 && !existsSync('go')) Atomics.wait(wait, 0, 0, 20);`,
    );
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const file = write('config.yaml', configuration());
    const args = ['--config', file, '--host', '127.0.0.1', '--port', `${port}`, '--num_workers'];
    const group = start([...args, '2'], { cwd: path.dirname(file), nodeFlags: ['--import', slow] });
    await waitFor(
      async () => (await call(`${url}/health/liveliness`, { method: 'GET' }).catch(() => undefined))?.status,
      () => 'no worker serves',
    );
    const { answer } = await hold({ url });
    process.kill(group.pid ?? 0, 'SIGTERM');
    await group.waitForOutput(/SIGTERM: stopping/);
    for (const response of heldAnswers.splice(0)) complete(response);
    expect((await answer).status).toBe(200);
    write('go', '');
    expect(await group.waitForExit()).toBe(0);
    const next = await startGroup(configuration());
    const rows = (await next.manage('GET', '/spend/logs?summarize=false')).json();
    expect(rows).toEqual([expect.objectContaining({ requests: 1, failed_requests: 0 })]);
  });

  it('MP-134 answers a request whose connection the killed worker has not accepted', async () => {
    const group = await startGroup(configuration());
    const [stopped = 0] = group.workers();
    process.kill(stopped, 'SIGSTOP');
    // The first process sends the stopped worker one connection, and waits for its confirmation.
    const answers = Promise.all([1, 2, 3, 4].map(() => group.chat(MASTER)));
    await until(() => requestCount() === 3, 'the other worker has not got three requests');
    process.kill(stopped, 'SIGKILL');
    expect(await answers).toEqual([200, 200, 200, 200]);
  });

  it('MP-134 answers requests whose connections two killed workers have not accepted', async () => {
    const group = await startGroup(configuration(), ['--num_workers', '3']);
    const stopped = group.workers().slice(0, 2);
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    // The first process sends each stopped worker one connection, and waits for its confirmation.
    const answers = Promise.all([1, 2, 3, 4, 5].map(() => group.chat(MASTER)));
    await until(() => requestCount() === 3, 'the third worker has not got three requests');
    for (const pid of stopped) process.kill(pid, 'SIGKILL');
    expect(await answers).toEqual([200, 200, 200, 200, 200]);
  });

  it('replaces a worker that is killed, after a pause that doubles, and keeps the other worker', async () => {
    const group = await startGroup(configuration());
    const [toKill = 0, other = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(
      /a worker has ended: another process replaces it.*"reason":"SIGKILL","afterMs":100/,
    );
    await group.process.waitForOutput(/a worker serves clients again/);
    expect(group.workers()).toHaveLength(2);
    expect(group.workers()).toContain(other);
    for (const connection of await group.connectToAll(2)) expect((await connection.chat(MASTER)).status).toBe(200);
    const [again = 0] = group.workers().filter((pid) => pid !== other);
    process.kill(again, 'SIGKILL');
    await group.process.waitForOutput(/"reason":"SIGKILL","afterMs":200/);
  });

  /** Makes the start of each worker fail as long as the file `broken` exists. @returns the environment of the group. */
  function breakableStart() {
    const hook = write(
      'hook.mjs',
      `import cluster from 'node:cluster';
      import { existsSync } from 'node:fs';
      import { Server } from 'node:net';
      const { listen } = Server.prototype;
      if (cluster.isWorker)
        Server.prototype.listen = function (...args) {
          if (existsSync('broken')) throw new TypeError('this start is broken');
          return listen.apply(this, args);
        };`,
    );
    return { NODE_OPTIONS: `--import=${hook}` };
  }

  it('ends with the reason if the start of a worker fails with an unexpected error', async () => {
    const env = breakableStart();
    write('broken', '');
    const args = ['--config', write('config.yaml', configuration()), ...LOCAL, '--num_workers', '2'];
    const { code, stderr } = await run(args, env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('a worker has ended at its start: this start is broken'),
    ]);
  });

  it('replaces a worker also after a start that fails with an unexpected error', async () => {
    const env = breakableStart();
    const args = ['--config', write('config.yaml', configuration()), ...LOCAL, '--num_workers', '2'];
    const group = start(args, { env });
    await group.address();
    const broken = write('broken', '');
    process.kill(childrenOf(group)[0] ?? 0, 'SIGKILL');
    await group.waitForOutput(/a worker cannot start: a worker has ended at its start: this start is broken/);
    rmSync(broken);
    await group.waitForOutput(/a worker serves clients again/);
    expect(childrenOf(group)).toHaveLength(2);
  });

  it('ends all workers when the first process is killed, and frees the port', async () => {
    const group = await startGroup(configuration());
    const workers = group.workers();
    const { answer } = await hold(group);
    const cut = expect(answer).rejects.toThrow();
    group.process.signal('SIGKILL');
    await group.process.waitForExit();
    await cut;
    await until(() => !workers.some(isRunning), 'the workers have not ended');
    const server = createServer().listen(Number(new URL(group.url).port), '127.0.0.1');
    await once(server, 'listening');
    server.close();
  });

  it('reports a port in use in a single line, once', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo; // a TCP server has an AddressInfo
    const file = write('config.yaml', configuration());
    expect(await run(['--config', file, '--host', '127.0.0.1', '--port', `${port}`, '--num_workers=3'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `listening at 127.0.0.1 port ${port}: the port is in use\n`,
    });
    other.close();
  });

  it.each([
    [['--num_workers', '0'], {}, 'command line: --num_workers must be a number of processes from 1 to 128, not "0"'],
    [[], { NUM_WORKERS: 'two' }, 'environment: NUM_WORKERS must be a number of processes from 1 to 128, not "two"'],
  ])('does not start with the flags %j and the environment %j', async (args, environment, line) => {
    const file = write('config.yaml', configuration());
    expect(await run(['--config', file, ...args], environment)).toEqual({ code: 78, stdout: '', stderr: `${line}\n` });
  });

  it('is a single process with --num_workers 1', async () => {
    const group = await startGroup(configuration(), ['--num_workers', '1']);
    expect(group.workers()).toEqual([]);
    expect(await group.chat(MASTER)).toBe(200);
    await group.process.waitForOutput(/chat\/completions/);
    expect(group.process.output).not.toContain('"worker":');
  });

  it('reads the number from NUM_WORKERS', async () => {
    const file = write('config.yaml', configuration());
    const proxy = start(['--config', file, '--host', '127.0.0.1', '--port', '0'], { env: { NUM_WORKERS: '2' } });
    await proxy.waitForOutput(/"workers":2/);
  });
});

describe('a SIGHUP to all processes of a group', () => {
  it('does not stop the start if it comes before the workers run their first line, and causes a reload', async () => {
    const config = write('config.yaml', configuration());
    // Node runs this file in each process before the program. The first two workers end with SIGHUP.
    const ending = write(
      'ending.cjs',
      `const { worker } = require('node:cluster');
      if (worker?.id <= 2) {
        process.kill(process.ppid, 'SIGHUP');
        process.kill(process.pid, 'SIGHUP');
        for (;;);
      }`,
    );
    const args = ['--config', config, ...LOCAL, '--num_workers', '2'];
    const group = start(args, { nodeFlags: ['--require', ending] });
    await group.waitForOutput(/configuration reloaded/);
    expect(childrenOf(group)).toHaveLength(2);
    expect(group.output).not.toContain('a worker has ended');
  });

  it('does not end a worker that still loads its program, and neither do SIGINT and SIGTERM', async () => {
    const folder = path.dirname(write('package.json', '{"type":"module"}'));
    copyFileSync(path.join(DIST, 'workers/worker-entry.js'), path.join(folder, 'worker-entry.js'));
    // This program loads until its input ends.
    write('worker.js', `console.log('loading'); for await (const _ of process.stdin); console.log('loaded');`);
    const worker = spawn(process.execPath, [path.join(folder, 'worker-entry.js')], { stdio: 'pipe' });
    const ended = once(worker, 'close');
    let output = '';
    worker.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until(() => output !== '', 'the worker does not load its program');
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) worker.kill(signal);
    worker.stdin.end();
    expect([await ended, output]).toEqual([[0, null], 'loading\nloaded\n']);
  });
});

describe('a reload of a group', () => {
  const models = async (group: Group) =>
    (await group.connectToAll(2)).map(async (connection) => {
      const { text } = await connection.get('/v1/models', MASTER);
      connection.close();
      // The answer is OpenAI's list of models.
      return (JSON.parse(text) as { readonly data: readonly { readonly id: string }[] }).data.map(({ id }) => id);
    });

  it('MP-135 reaches all workers, also those that start later, and a faulty file changes none', async () => {
    const group = await startGroup(configuration());
    write('config.yaml', configuration().replace('"model_name":"m"', '"model_name":"renamed"'));
    group.process.signal('SIGHUP');
    await group.process.waitForOutput(/configuration reloaded.*renamed/);
    expect(await Promise.all(await models(group))).toEqual([['renamed'], ['renamed']]);
    write('config.yaml', 'model_list: 5');
    group.process.signal('SIGHUP');
    await group.process.waitForOutput(/reloading the configuration failed: the old one stays in use/);
    const [toKill = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(/a worker serves clients again/);
    expect(await Promise.all(await models(group))).toEqual([['renamed'], ['renamed']]);
    expect(group.process.output.match(/configuration reloaded/g)).toHaveLength(1);
  });

  it('reaches a worker that begins to serve while another worker prepares', async () => {
    const group = await startGroup(configuration());
    const [toKill = 0, slow = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(/a worker has ended/);
    process.kill(slow, 'SIGSTOP');
    write('config.yaml', configuration().replace('"model_name":"m"', '"model_name":"renamed"'));
    group.process.signal('SIGHUP');
    await group.process.waitForOutput(/a worker serves clients again/);
    process.kill(slow, 'SIGCONT');
    await group.process.waitForOutput(/configuration reloaded.*renamed/);
    expect(await Promise.all(await models(group))).toEqual([['renamed'], ['renamed']]);
    expect(group.workers()).toContain(slow);
  });
});

describe('a cooldown of a deployment', () => {
  it('MP-136 applies to all workers, also to those that start later', async () => {
    const siblings = (config: string) =>
      config.replace(
        /"model_list":\[(.*?\})\]/,
        (_all, entry: string) =>
          `"model_list":[${entry},${entry.replace('"m"', '"other"').replace('first', 'second')}]`,
      );
    const router = { router_settings: { allowed_fails: 0, cooldown_time: 600 } };
    const group = await startGroup(siblings(configuration({}, router)));
    const connections = await group.connectToAll(2);
    failWith(500);
    expect((await connections[0]?.chat(MASTER))?.status).toBe(500);
    const isCooling = async () => (await connections[1]?.chat(MASTER))?.status === 429;
    await waitFor(
      async () => ((await isCooling()) ? true : undefined),
      () => 'the deployment does not cool down at the other worker',
    );
    const sent = requestCount();
    const [toKill = 0] = group.workers();
    process.kill(toKill, 'SIGKILL');
    await group.process.waitForOutput(/a worker serves clients again/);
    for (const connection of await group.connectToAll(2)) expect((await connection.chat(MASTER)).status).toBe(429);
    expect(requestCount()).toBe(sent);
    const status = await call(`${group.url}/model/status`, {
      method: 'GET',
      headers: { authorization: `Bearer ${MASTER}` },
    });
    expect(status.text).toContain('"cooling_down"');
  });
});
