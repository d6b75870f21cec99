/** The value of a setting. A value, such as a list of hosts, may have megabytes. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { copyText } from '../../../ui/copy.js';
import { configurationTexts as texts } from '../../../texts/index.js';
import type { Setting } from './setting.js';

/** Characters of a value that are always in the page. */
const SHORT = 120;
/** Characters of an opened value. A browser needs seconds to wrap a line of megabytes. */
const LONG = 10_000;

/** Returns a value as the configuration file has it, without the quotes of strings; for null, a word. */
export function textOf(value: Setting['value']): string {
  if (value === null) return texts.none;
  if (typeof value === 'boolean') return value ? texts.on : texts.off;
  return String(value);
}

/** The value. The user can open a long value. */
export function SettingValue({ name, value }: { readonly name: string; readonly value: string }) {
  const isOpen = useSignal(false);
  if (value.length <= SHORT) return <code>{value}</code>;
  return (
    <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <code>{isOpen.value ? texts.characters(value.length) : `${value.slice(0, SHORT)}…`}</code>
      </summary>
      {isOpen.value ? (
        <>
          <textarea
            class="input mono"
            rows={8}
            readOnly
            aria-label={texts.valueOf(name)}
            value={value.slice(0, LONG)}
          />
          {value.length > LONG ? <p class="quiet">{texts.cut(value.length - LONG)}</p> : null}
          <Button aria-label={texts.copy(name)} onClick={() => void copyText(value)}>
            {texts.copyShort}
          </Button>
        </>
      ) : null}
    </details>
  );
}
