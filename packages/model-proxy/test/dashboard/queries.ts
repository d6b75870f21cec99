/** Reads the queries of the dashboard for Grafana. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';

const file = join(import.meta.dirname, '../../../../examples/model-proxy/grafana-dashboard.json');

/** The part of the dashboard that the tests read. */
interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
}

/** A query of a panel. */
export interface Query {
  readonly panel: string;
  /** The expression with values for Grafana's variables: all jobs, all models, and a minute. */
  readonly expression: string;
  /** Labels in the legend. */
  readonly legend: readonly string[];
}

/** Metrics and labels of an expression. */
export interface Names {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

const dashboard = JSON.parse(readFileSync(file, 'utf8')) as Dashboard; // the file of this repository has this form

/** Returns the queries of all panels. */
export function panelQueries(): readonly Query[] {
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      panel: title,
      expression: withValues(expr),
      legend: Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label),
    })),
  );
}

/** Returns the metric and the label of each variable that Grafana reads from Prometheus. */
export function variableQueries(): readonly { readonly expression: string; readonly label: string }[] {
  return dashboard.templating.list.flatMap(({ query }) => {
    if (typeof query === 'string') return [];
    const [, expression = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query.query) ?? [];
    return [{ expression: withValues(expression), label }];
  });
}

const withValues = (expression: string) =>
  expression.replaceAll('$__rate_interval', '1m').replace(/\$(?:job|model)\b/g, '.*');

/**
 * Returns the names of the metrics and labels in an expression.
 * @throws {SyntaxError} if the expression is not PromQL.
 */
export function namesIn(expression: string): Names {
  const metrics: string[] = [];
  const labels: string[] = [];
  const tree = parser.configure({ strict: true }).parse(expression);
  tree.iterate({
    enter: ({ name, from, to }) => {
      if (name === 'Identifier') metrics.push(expression.slice(from, to));
      if (name === 'LabelName') labels.push(expression.slice(from, to));
    },
  });
  return { metrics, labels };
}
