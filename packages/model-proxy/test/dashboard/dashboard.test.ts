/** The dashboard for Grafana in `examples/model-proxy`. */
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { useSetups } from '../routing/fixture.js';
import { startPrometheus } from './prometheus.js';
import { namesIn, panelQueries, variableQueries } from './queries.js';
import { blocks, exposedMetrics, models, sendTraffic, type Exposed } from './traffic.js';

/** Labels that Prometheus adds. */
const LABELS_OF_TARGETS = ['job', 'instance'];

/** Returns a line for each name that `/metrics` does not have. */
function unknownNames(exposed: Exposed, expression: string, more: readonly string[]): readonly string[] {
  const { metrics, labels } = namesIn(expression);
  const wanted = [...labels, ...more].filter((label) => !LABELS_OF_TARGETS.includes(label));
  return metrics.flatMap((metric) => {
    const known = exposed.get(metric);
    if (known === undefined) return [`${metric} is not in /metrics`];
    return wanted.filter((label) => !known.has(label)).map((label) => `${metric} has no label ${label}`);
  });
}

describe('the dashboard', () => {
  const setUp = useSetups();

  it('uses only metrics and labels that a proxy shows, and all of its own metrics', async () => {
    const setup = await setUp(models, blocks);
    await sendTraffic(setup);
    const exposed = await exposedMetrics(setup);
    const queries = panelQueries();
    expect(queries.flatMap(({ expression, legend }) => unknownNames(exposed, expression, legend))).toEqual([]);
    const variables = variableQueries();
    expect(variables.map(({ label }) => label)).toEqual(['job', 'requested_model']);
    expect(variables.flatMap(({ expression, label }) => unknownNames(exposed, expression, [label]))).toEqual([]);

    const shown = new Set(queries.flatMap(({ expression }) => namesIn(expression).metrics.map(withoutSuffix)));
    const own = [...exposed.keys()].filter((name) => /^(litellm|rackless)_/.test(name)).map(withoutSuffix);
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
  });

  it('fails the previous test if a query has an unknown metric, an unknown label or wrong syntax', () => {
    const exposed = new Map([['known', new Set(['model'])]]);
    expect(unknownNames(exposed, 'sum by (model) (rate(known[1m]))', [])).toEqual([]);
    expect(unknownNames(exposed, 'sum by (place) (absent)', [])).toEqual(['absent is not in /metrics']);
    expect(unknownNames(exposed, 'sum by (place) (known{job="a"})', ['le'])).toEqual([
      'known has no label place',
      'known has no label le',
    ]);
    expect(() => namesIn('sum by (model) (rate(known[1m])')).toThrow(SyntaxError);
  });

  // CI skips no test, and Debian's package starts a service. RACKLESS_PROMETHEUS names the program.
  // Without it there is no test.
  const program = process.env['RACKLESS_PROMETHEUS'];
  if (program !== undefined)
    it('gets a number from Prometheus for each query', async () => {
      const setup = await setUp(models, blocks);
      const prometheus = await startPrometheus(program, setup.proxy.port);
      try {
        let pending = panelQueries();
        await waitFor(
          async () => {
            await sendTraffic(setup);
            const values = await Promise.all(pending.map(({ expression }) => prometheus.evaluate(expression)));
            pending = pending.filter((_query, index) => values[index]?.some(Number.isFinite) !== true);
            return pending.length === 0 ? true : undefined;
          },
          () => `queries without a number: ${JSON.stringify(pending)}`,
        );
      } finally {
        await prometheus.close();
      }
    });
});

/** Returns the name of the histogram for a series of a histogram. */
function withoutSuffix(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}
