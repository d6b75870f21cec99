/** The rows of settings about health checks. */
import { defaults } from './defaults.js';
import { boolean, number, oneOf, texts, wholeNumber } from './setting-types.js';

/** Rows that both `general_settings` and `router_settings` have. */
export const healthRoutingRows = {
  enableHealthCheckRouting: boolean({
    name: 'enable_health_check_routing',
    default: 'false',
    doc: 'Whether requests prefer deployments whose last check in the background succeeded.',
  }),
  healthCheckStaleness: number(0.1, 1_000_000, {
    name: 'health_check_staleness_threshold',
    default: 'twice `health_check_interval`',
    doc: 'Seconds after which the proxy ignores a failed check.',
  }),
  healthCheckIgnoreTransient: boolean({
    name: 'health_check_ignore_transient_errors',
    default: 'false',
    doc: '`true`: a timeout or a 429 in a check has no effect on the choice of deployments and on the readiness.',
  }),
};

/** The rows of `generalTable` about health checks. */
export const healthRows = {
  backgroundHealthChecks: boolean({
    name: 'background_health_checks',
    default: 'false',
    doc: 'Whether the proxy [checks](#health-checks) all deployments regularly. `/health` then shows the last results.',
  }),
  healthCheckInterval: number(0.1, 1_000_000, {
    name: 'health_check_interval',
    default: `${defaults.healthCheckIntervalSeconds}`,
    doc: 'Seconds between the beginnings of two rounds of checks. The proxy varies this time by up to 10 %, so that several proxies do not send their checks at the same time.',
  }),
  healthCheckMethod: oneOf(['models', 'completion'], {
    name: 'health_check_method',
    default: 'models',
    doc: 'How checks in the background find out whether a deployment works. `models`: by the list of models, which costs no tokens. `completion`: by a short request to the model. Not in LiteLLM, which always sends a request to the model.',
  }),
  healthCheckConcurrency: wholeNumber(1, 10_000, {
    name: 'health_check_concurrency',
    default: `${defaults.healthCheckConcurrency}`,
    doc: 'Maximum number of checks at the same time.',
  }),
  healthCheckDetails: boolean({
    name: 'health_check_details',
    default: 'true',
    doc: 'Whether `/health` shows addresses and errors.',
  }),
  healthCheckModelGroups: texts({
    name: 'background_health_check_model_groups',
    default: 'all groups',
    doc: 'The only model groups to check in the background.',
  }),
  healthCheckSkipDisabled: boolean({
    name: 'health_check_skip_disabled_background_models',
    default: 'false',
    doc: 'Whether `/health` leaves out deployments with `disable_background_health_check`. With checks in the background, it always does.',
  }),
  ...healthRoutingRows,
};
