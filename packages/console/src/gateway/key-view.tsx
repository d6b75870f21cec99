/** Parts of a virtual key that several pages show. */
import { formatCount, formatDate, formatUsd } from '../ui/format.js';
import { Meter } from '../ui/charts/meter.js';
import { Badge } from '../ui/states.js';
import { nameOf, type Key } from './api/keys.js';
import { keysTexts as texts } from '../texts/index.js';

/** A badge with the status of a key. */
export function KeyStatus({ status }: { readonly status: Key['status'] }) {
  return (
    <Badge kind={({ active: 'good', expired: 'warn', revoked: 'bad' } as const)[status]}>{texts.status[status]}</Badge>
  );
}

/** The spend, with a meter if there is a budget. */
export function KeyBudget({ of }: { readonly of: Key }) {
  const { spend, max_budget: budget, budget_reset_at: resetAt } = of;
  if (budget === null) return <>{formatUsd(spend)}</>;
  return (
    <>
      <Meter
        label={texts.budgetOf(nameOf(of))}
        value={budget === 0 ? 1 : spend / budget}
        text={texts.budget(formatUsd(spend), formatUsd(budget))}
      />
      {resetAt === null ? null : <small class="detail">{texts.resets(formatDate(resetAt))}</small>}
    </>
  );
}

/** Returns the limits of a key in words. */
export function limitsOf({ rpm_limit: rpm, tpm_limit: tpm, max_parallel_requests: parallel }: Key): readonly string[] {
  return [
    ...(rpm === null ? [] : [texts.rpm(formatCount(rpm))]),
    ...(tpm === null ? [] : [texts.tpm(formatCount(tpm))]),
    ...(parallel === null ? [] : [texts.parallel(formatCount(parallel))]),
  ];
}

/** Returns the models of a key in words. */
export function modelsOf({ models }: Key): string {
  return models.length === 0 ? texts.allModels : models.join(', ');
}
