/** Tests fallbacks: model groups that get a request after another group has failed. */
import { describe, expect, it } from '@jest/globals';
import type { Behavior } from './faulty-upstream.js';
import { statuses, useSetups, type Reply } from './fixture.js';

const tooLong: Behavior = {
  status: 400,
  body: { error: { message: "This model's maximum context length is 10 tokens", code: 'context_length_exceeded' } },
};
const refused: Behavior = {
  status: 400,
  body: { error: { message: 'no', code: 'content_policy_violation' } },
};
const broken: Behavior = { status: 401 };

/** Returns the status of an answer, and the group and the number of fallbacks in its headers. */
const groupOf = ({ status, headers }: Reply) => [
  status,
  headers['x-litellm-model-group'],
  headers['x-litellm-attempted-fallbacks'],
];

describe('fallbacks', () => {
  const setUp = useSetups();

  it('are tried in their order, each with its own fallbacks, and each once', async () => {
    const models = ['chat', 'a', 'b', 'c'].map(
      (name) => ({ name, behavior: name === 'c' ? 'works' : broken }) as const,
    );
    const { ask, upstreams } = await setUp(models, {
      router_settings: { fallbacks: [{ chat: ['missing', 'a'] }, { a: ['chat', 'b'] }, { b: ['a', 'c'] }] },
    });
    const reply = await ask();
    expect(groupOf(reply)).toEqual([200, 'c', '3']);
    expect(reply.headers['x-litellm-max-fallbacks']).toBe('5');
    expect(upstreams.map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  });

  it('end after max_fallbacks; the client gets the error of the first group, with a list of fallbacks', async () => {
    const models = ['chat', 'a', 'b', 'c'].map((name) => ({
      name,
      behavior: name === 'c' ? 'works' : name === 'chat' ? { status: 403 } : broken,
    })) as readonly { name: string; behavior: Behavior }[]; // the literals are behaviors
    const { ask } = await setUp(models, {
      litellm_settings: { fallbacks: [{ chat: ['a', 'b', 'c'] }], max_fallbacks: 2 },
    });
    const reply = await ask();
    expect(groupOf(reply)).toEqual([403, 'chat', '2']);
    expect(reply.text).toContain("Available Model Group Fallbacks=['a', 'b', 'c']");
  });

  it('serve all requests while a whole group is down', async () => {
    const { askMany, upstreams } = await setUp([{}, {}, { name: 'other' }], {
      router_settings: { default_fallbacks: ['other'] },
    });
    await upstreams[0]?.close();
    await upstreams[1]?.close();
    expect(statuses([...(await askMany(100)), ...(await askMany(100, { stream: true }))])).toEqual({ 200: 200 });
  });

  it('serve requests while a whole group cools down', async () => {
    const behavior = { status: 429, headers: { 'retry-after': '60' } };
    const { ask, upstreams } = await setUp([{ behavior }, { behavior }, { name: 'other' }], {
      router_settings: { fallbacks: [{ '*': ['other'] }] },
    });
    expect(groupOf(await ask())).toEqual([200, 'other', '1']);
    expect(groupOf(await ask())).toEqual([200, 'other', '1']);
    expect(upstreams.map(({ count }) => count)).toEqual([1, 1, 2]);
  });

  it('include those of a fallback that cools down or is at its limit', async () => {
    const limited: Behavior = { status: 429, headers: { 'retry-after': '60' } };
    const models = ['chat', 'a', 'a', 'b', 'c'].map((name) => ({
      name,
      ...(name === 'a' ? { behavior: limited } : name === 'b' ? { params: { rpm: 1 } } : {}),
      ...(name === 'chat' ? { behavior: broken } : {}),
    }));
    const { ask } = await setUp(models, {
      router_settings: { fallbacks: [{ chat: ['a'] }, { a: ['b'] }, { b: ['c'] }] },
    });
    // The first request begins the cooldown of group a, and reaches the limit of group b.
    expect([groupOf(await ask()), groupOf(await ask())]).toEqual([
      [200, 'b', '2'],
      [200, 'c', '1'],
    ]);
  });

  it('depend on the error: a long prompt, refused content, or another error', async () => {
    const names = ['chat', 'long', 'lenient', 'other'];
    const { ask, upstreams } = await setUp(
      names.map((name) => ({ name })),
      {
        router_settings: {
          fallbacks: [{ chat: ['other'] }],
          context_window_fallbacks: [{ chat: ['long'] }],
          content_policy_fallbacks: [{ chat: ['lenient'] }],
        },
      },
    );
    const [chat] = upstreams;
    const groups: unknown[] = [];
    for (const behavior of [tooLong, refused, broken, { status: 400 }]) {
      if (chat !== undefined) chat.behavior = behavior;
      groups.push(groupOf(await ask())[1]);
    }
    expect(groups).toEqual(['long', 'lenient', 'other', 'other']);
  });

  it('in a request replace those of the configuration', async () => {
    const { ask, upstreams } = await setUp([{ behavior: broken }, { name: 'a' }, { name: 'b' }], {
      router_settings: { fallbacks: [{ chat: ['a'] }] },
    });
    expect(groupOf(await ask({ fallbacks: ['b'] }))).toEqual([200, 'b', '1']);
    expect(groupOf(await ask({ fallbacks: [{ model: 'b' }] }))).toEqual([200, 'b', '1']);
    expect(groupOf(await ask({ fallbacks: [{ chat: ['b'] }] }))).toEqual([200, 'b', '1']);
    for (const body of [{ fallbacks: [] }, { fallbacks: 'b' }, { fallbacks: [5] }, { disable_fallbacks: true }])
      expect(groupOf(await ask(body))).toEqual([401, 'chat', '0']);
    for (const { requests } of upstreams) for (const { body } of requests) expect(body).not.toMatch(/fallbacks/);
  });

  it('cause 400 before the first attempt if the list of a client is too long', async () => {
    const { ask, upstreams } = await setUp([{ behavior: broken }, { name: 'b' }]);
    for (const name of ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks']) {
      const { status, text } = await ask({ [name]: Array.from({ length: 1000 }, () => 'x'.repeat(20)) });
      expect([status, text]).toEqual([400, expect.stringContaining(`'${name}' is longer than 16384 bytes`)]);
    }
    expect(upstreams[0]?.count).toBe(0);
    expect(groupOf(await ask({ fallbacks: ['x'.repeat(16_000), 'b'] }))).toEqual([200, 'b', '1']);
  });

  it('get a request if all deployments of the group are at their rpm', async () => {
    const { ask, upstreams } = await setUp([{ params: { rpm: 1 } }, { name: 'other' }], {
      router_settings: { fallbacks: [{ chat: ['other'] }] },
    });
    expect([groupOf(await ask()), groupOf(await ask())]).toEqual([
      [200, 'chat', '0'],
      [200, 'other', '1'],
    ]);
    expect(upstreams.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('are rejected in the configuration if they are not a list of mappings', async () => {
    for (const fallbacks of [['a'], { chat: ['a'] }, [{ chat: 'a' }], 'a'])
      await expect(setUp([{}], { router_settings: { fallbacks } })).rejects.toThrow(
        /router_settings\.fallbacks: must be a list of mappings such as/,
      );
  });
});
