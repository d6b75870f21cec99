/** Changes a store in the folder of the first argument until it is killed. Prints stored keys, requests and the log. */
const { openEmbeddedStore } = await import(
  new URL('../../dist/store/embedded/embedded-store.js', import.meta.url).href
);
const [folder] = process.argv.slice(2);
const say = (text) => process.stdout.write(`${text}\n`);
const log = { info: say, warn: say, error: say };
const store = await openEmbeddedStore({ folder, log, keepDays: null });
say(`has ${[...store.keys.keys()].join(' ')}`);
const limits = { rpmLimit: null, tpmLimit: null, maxParallelRequests: null, maxBudget: null, budgetDuration: null };
const lists = { models: [], aliases: {}, allowedRoutes: [], tags: [], metadata: {} };
const ids = { name: 'sk-...', alias: null, userId: null, teamId: null };
const key = { ...ids, ...lists, ...limits, expiresAt: null, blocked: false, createdAt: 1, updatedAt: 1 };
const request = {
  key: null,
  model: 'm',
  tags: [],
  requests: 1,
  failed: false,
  inputTokens: 1,
  outputTokens: 0,
  totalTokens: 1,
  cost: 0,
};
const rows = [];
for await (const ofDay of store.usageByDay('2000-01-01', '2999-01-01')) rows.push(...ofDay);
say(`counted ${rows.reduce((sum, row) => sum + row.requests, 0)}`);

let count = 0;
setInterval(() => {
  count += 1;
  // Each model has a row of its own, so that the usage grows.
  store.addUsage({ ...request, model: `${process.pid}-${count}` });
  say(`used ${Date.now()}`);
}, 10);
for (;;) {
  const digest = `${process.pid}-${Math.random()}`;
  try {
    await store.changeKeys(() => ({
      changes: new Map([[digest, { ...key, metadata: { fill: 'x'.repeat(2000) } }]]),
      result: 0,
    }));
    say(`stored ${digest}`);
    // The pause lets the timer above add usage.
    await new Promise((resolve) => setTimeout(resolve, 10));
  } catch (error) {
    say(`failed ${error.message}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
