/** Compares the queries of the dashboard for Grafana in `examples/model-proxy` with the metrics of a proxy. */
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { useSetups } from '../routing/fixture.js';
import { startPrometheus } from './prometheus.js';
import { namesIn, panelQueries, variableQueries } from './queries.js';
import { blocks, exposedMetrics, models, sendTraffic, type Exposed } from './traffic.js';

/** Labels that Prometheus adds to each metric. */
const LABELS_OF_TARGETS = ['job', 'instance'];

/**
 * Returns a line for each metric of an expression that `/metrics` does not have, and for each label that a metric
 * does not have.
 * @param more labels outside of the expression, such as those of a legend.
 */
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

  it('uses only metrics and labels that a proxy exposes, and all its litellm_ and rackless_ metrics', async () => {
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

  it('has a check that finds an unknown metric, an unknown label and wrong syntax', () => {
    const exposed = new Map([['known', new Set(['model'])]]);
    expect(unknownNames(exposed, 'sum by (model) (rate(known[1m]))', [])).toEqual([]);
    expect(unknownNames(exposed, 'sum by (place) (absent)', [])).toEqual(['absent is not in /metrics']);
    expect(unknownNames(exposed, 'sum by (place) (known{job="a"})', ['le'])).toEqual([
      'known has no label place',
      'known has no label le',
    ]);
    expect(() => namesIn('sum by (model) (rate(known[1m])')).toThrow(SyntaxError);
  });

  // RACKLESS_PROMETHEUS names a Prometheus program. Without the variable, this test does not exist: CI rejects
  // skipped tests, and it does not install Debian's package, because this package starts a service.
  const program = process.env['RACKLESS_PROMETHEUS'];
  if (program !== undefined)
    it('gets a number from Prometheus for each query of its panels', async () => {
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

/** Returns the name of the histogram for the name of one of its series. Returns other names unchanged. */
function withoutSuffix(name: string): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}
