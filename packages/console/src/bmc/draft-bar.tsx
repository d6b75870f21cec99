/** The bar below a form: the values that another client changed, the error, and the buttons. */
import { Button } from '../ui/button.js';
import { ErrorState, Notice } from '../ui/states.js';
import type { Draft, FieldValue } from './draft.js';
import { draftTexts as texts } from '../texts/index.js';

/** Properties of `DraftBar`. */
interface DraftBarProps {
  readonly draft: Draft;
  /** Returns the label of a field. */
  readonly labelOf: (name: string) => string;
  /** Returns the text of a value. Default: the value itself. */
  readonly textOf?: (value: FieldValue) => string;
  /** The text of the button that saves. */
  readonly saveLabel: string;
}

/** Shows conflicts and errors of a form, and saves it. */
export function DraftBar({ draft, labelOf, textOf = valueText, saveLabel }: DraftBarProps) {
  const { conflicts, error, isChanged, isBusy } = draft;
  return (
    <div class="draft-bar">
      {conflicts.length === 0 ? null : (
        <Notice kind="warn">
          <div role="alert">
            <strong>{texts.changed}</strong>
            <ul class="changes">
              {conflicts.map(({ name, before, now }) => (
                <li key={name}>
                  {texts.change(labelOf(name), textOf(before), textOf(now))}
                  {name in draft.edits ? <> {texts.yours(textOf(draft.values[name] ?? null))}</> : null}
                </li>
              ))}
            </ul>
            <div class="row">
              <Button onClick={draft.keep}>{texts.keep}</Button>
              <Button onClick={draft.discard}>{texts.useNewValues}</Button>
            </div>
          </div>
        </Notice>
      )}
      {error === null || conflicts.length > 0 ? null : <ErrorState message={error} />}
      <div class="row">
        <Button
          kind="primary"
          isBusy={isBusy}
          disabled={!isChanged || conflicts.length > 0}
          onClick={() => void draft.save()}
        >
          {saveLabel}
        </Button>
        <Button disabled={!isChanged || isBusy} onClick={draft.discard}>
          {texts.discard}
        </Button>
      </div>
    </div>
  );
}

/** Returns a value as text. */
export function valueText(value: FieldValue): string {
  if (value === null || value === '') return texts.none;
  return Array.isArray(value) ? value.join(', ') : String(value);
}
