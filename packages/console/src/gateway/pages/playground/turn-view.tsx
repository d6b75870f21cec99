/** A question with its answer, as plain text. */
import { formatCount, formatMs, formatUsd } from '../../../ui/format.js';
import { Badge, ErrorState } from '../../../ui/states.js';
import { playgroundTexts as texts } from '../../../texts/index.js';
import { costOf, type Turn } from './conversation.js';

/** A question, its answer, and the numbers of the answer. */
export function TurnView({ turn }: { readonly turn: Turn }) {
  const { model, question, answer, reasoning, state, error } = turn;
  return (
    <div class="turn">
      <div class="said question">
        <strong>{texts.you}</strong>
        <p dir="auto">{question}</p>
      </div>
      <div class="said answer">
        <strong>{model}</strong>
        {reasoning === '' ? null : (
          <details>
            <summary>{texts.reasoning}</summary>
            <p class="quiet" dir="auto">
              {reasoning}
            </p>
          </details>
        )}
        <p dir="auto">
          {answer}
          {state === 'running' ? <span class="caret" aria-hidden="true" /> : null}
        </p>
        {error === null ? null : <ErrorState message={error} />}
        <p class="numbers">
          {state === 'stopped' ? <Badge kind="warn">{texts.stopped}</Badge> : null}
          {numbersOf(turn).map((text) => (
            <small key={text}>{text}</small>
          ))}
        </p>
      </div>
    </div>
  );
}

/** Returns the known numbers of a turn in words. */
function numbersOf(turn: Turn): readonly string[] {
  const { firstTokenMs, totalMs, inputTokens, outputTokens, finishReason } = turn.numbers;
  const cost = costOf(turn);
  const writingMs = totalMs === null || firstTokenMs === null ? 0 : totalMs - firstTokenMs;
  return [
    ...(firstTokenMs === null ? [] : [texts.firstToken(formatMs(firstTokenMs))]),
    ...(totalMs === null ? [] : [texts.total(formatMs(totalMs))]),
    ...(inputTokens === null || outputTokens === null
      ? []
      : [texts.tokens(formatCount(inputTokens), formatCount(outputTokens))]),
    ...(outputTokens === null || outputTokens < 2 || writingMs <= 0
      ? []
      : [texts.speed(((1000 * outputTokens) / writingMs).toFixed(1))]),
    ...(cost === null ? [] : [texts.cost(formatUsd(cost))]),
    ...(finishReason === null || finishReason === 'stop' ? [] : [texts.finish(finishReason)]),
  ];
}
