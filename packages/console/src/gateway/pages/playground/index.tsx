/** A conversation with a model, streamed. Answers are texts, never HTML. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../../../ui/button.js';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import { place } from '../../../ui/frame/router.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { EmptyState, ErrorState, Loading } from '../../../ui/states.js';
import { deployments, modelsError, readModels } from '../../api/models.js';
import { playgroundTexts as texts } from '../../../texts/index.js';
import { ask, clearConversation, isRunning, settings, stopAnswer, turns, type Settings } from './conversation.js';
import { TurnView } from './turn-view.js';

/** The page Playground. */
export default function PlaygroundPage() {
  const all = deployments.value;
  if (all === null)
    return modelsError.value === null ? (
      <Loading />
    ) : (
      <ErrorState title={texts.failed} message={modelsError.value} onRetry={() => void readModels()} />
    );
  const names = [...new Set(all.map(({ model_name: name }) => name))];
  return (
    <div class="fill playground">
      <PageHeader
        title={texts.title}
        subtitle={texts.subtitle}
        actions={
          <Button disabled={turns.value.length === 0} onClick={clearConversation}>
            {texts.clear}
          </Button>
        }
      />
      {names.length === 0 ? (
        <EmptyState title={texts.noModels} />
      ) : (
        <div class="parts">
          <div class="card talk">
            <Turns />
            <Composer />
          </div>
          <SettingsForm names={names} />
        </div>
      )}
    </div>
  );
}

const set = (changed: Partial<Settings>): void => {
  settings.value = { ...settings.value, ...changed };
};

/** The settings of requests. */
function SettingsForm({ names }: { readonly names: readonly string[] }) {
  const wanted = place.value.query.get('model');
  const [first = ''] = names;
  const pattern = useSignal(names.includes(wanted ?? '') ? (wanted ?? first) : first);
  const isPattern = pattern.value.includes('*');
  useEffect(() => {
    if (!isPattern) set({ model: pattern.value });
    else if (!matches(pattern.value, settings.value.model)) set({ model: '' });
  }, [pattern.value]);
  const { model, system, temperature, maxTokens, stop } = settings.value;
  return (
    <section class="card settings" aria-label={texts.settings}>
      <SelectField
        label={texts.model}
        value={pattern.value}
        onValue={(value) => {
          pattern.value = value;
        }}
        options={names}
      />
      {isPattern ? (
        <TextField
          label={texts.customModel}
          hint={texts.customHint(pattern.value)}
          value={model}
          onValue={(value) => set({ model: value })}
          isRequired
        />
      ) : null}
      <TextAreaField
        label={texts.system}
        hint={texts.systemHint}
        rows={4}
        value={system}
        onValue={(value) => set({ system: value })}
      />
      <TextField
        label={texts.temperature}
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder={texts.byDefault}
        value={temperature}
        onValue={(value) => set({ temperature: value })}
      />
      <TextField
        label={texts.maxTokens}
        type="number"
        min={1}
        step={1}
        placeholder={texts.byDefault}
        value={maxTokens}
        onValue={(value) => set({ maxTokens: value })}
      />
      <TextField label={texts.stopTexts} hint={texts.stopHint} value={stop} onValue={(value) => set({ stop: value })} />
    </section>
  );
}

/** Returns whether a name matches a pattern with one star, which stands for at least one character. */
function matches(pattern: string, name: string): boolean {
  const [start = '', end = ''] = pattern.split('*');
  return name.length > start.length + end.length && name.startsWith(start) && name.endsWith(end);
}

/** The turns. The view follows the answer, unless the user has scrolled up. */
function Turns() {
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const all = turns.value;
  useEffect(() => {
    const element = list.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [all]);
  return (
    <div
      ref={list}
      class="turns"
      role="log"
      aria-label={texts.conversation}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight > scrollHeight - 40;
      }}
    >
      {all.length === 0 ? <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState> : null}
      {all.map((turn) => (
        <TurnView key={turn.id} turn={turn} />
      ))}
    </div>
  );
}

/** The field for the next message. */
function Composer() {
  const message = useSignal('');
  const send = (): void => {
    const text = message.value.trim();
    if (text === '' || isRunning.value || settings.value.model === '') return;
    message.value = '';
    void ask(text);
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextAreaField
        label={texts.message}
        hint={texts.messageHint}
        rows={3}
        value={message.value}
        onValue={(value) => {
          message.value = value;
        }}
        onKeyDown={(event) => {
          // Enter also ends the input of a composed character. This Enter must not send the message.
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {isRunning.value ? (
        <Button kind="danger" onClick={stopAnswer}>
          {texts.stop}
        </Button>
      ) : (
        <Button kind="primary" type="submit" disabled={message.value.trim() === '' || settings.value.model === ''}>
          {texts.send}
        </Button>
      )}
    </form>
  );
}
