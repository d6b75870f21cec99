/** The toolbar of the list: search, filters, groups, columns. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Button } from '../../../ui/button.js';
import { Checkbox, Select } from '../../../ui/field.js';
import { Icon } from '../../../ui/icon.js';
import { Menu } from '../../../ui/frame/menu.js';
import { bootTargetText } from '../../machine-view.js';
import type { Machine } from '../../redfish/machines.js';
import { machinesTexts } from '../../../texts/index.js';
import { hiddenColumns, optionalColumns, showColumn } from './columns.js';
import { filterNames, healthOf, overrideOf, patternOf, powerOf, valuesOf, type Filters, type View } from './filter.js';

const { filters: texts, columns: titles, power: powers } = machinesTexts;

/** Properties of `Toolbar`. */
interface ToolbarProps {
  readonly machines: ReadonlyMap<string, Machine>;
  readonly hosts: readonly string[];
  /** Columns in which no machine has a value. */
  readonly absentColumns: ReadonlySet<string>;
  readonly view: View;
  readonly onView: (view: View) => void;
  /** The field of the search, for a page that moves the focus to it. */
  readonly search: RefObject<HTMLInputElement | null>;
}

/** The toolbar. On narrow windows, a button opens the filters. */
export function Toolbar({ machines, hosts, absentColumns, view, onView, search }: ToolbarProps) {
  const isOpen = useSignal(false);
  const { filters } = view;
  const active = filterNames.filter((name) => name !== 'search' && filters[name] !== '').length;
  const setFilter = (name: keyof Filters, value: string): void =>
    onView({ ...view, filters: { ...filters, [name]: value } });
  const choices = useChoices(machines, hosts);
  return (
    <section class={isOpen.value ? 'toolbar open' : 'toolbar'} aria-label={texts.toolbar}>
      <SearchField input={search} value={filters.search} onValue={(value) => setFilter('search', value)} />
      <Button
        class="filters-button"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {texts.open(active)}
      </Button>
      <div class="filters">
        {choices.map(({ name, options }) => (
          <Select
            key={name}
            class={filters[name] === '' ? 'input' : 'input active'}
            aria-label={texts.labels[name]}
            value={filters[name]}
            onValue={(value) => setFilter(name, value)}
            // A bookmark can contain a value that no machine has.
            options={
              options.some((option) => option[0] === filters[name])
                ? options
                : [...options, [filters[name], filters[name]]]
            }
          />
        ))}
        <Checkbox
          label={texts.byName}
          isChecked={view.isGrouped}
          onChange={(isGrouped) => onView({ ...view, isGrouped })}
        />
        <ColumnMenu absent={absentColumns} />
      </div>
    </section>
  );
}

type ChoiceName = Exclude<keyof Filters, 'search'>;
type Choice = readonly [value: string, label: string];

/**
 * Returns the filters with their options. Filters without values are left out, such as the host if
 * the service names no hosts.
 */
function useChoices(
  machines: ReadonlyMap<string, Machine>,
  hosts: readonly string[],
): readonly { readonly name: ChoiceName; readonly options: readonly Choice[] }[] {
  // Joins the values to texts, so that the next `useMemo` runs again only if a value has changed. Most updates of the
  // machines change none.
  const [states, healths, targets, groups] = useMemo(
    () => VALUES.map((valueOf) => valuesOf(machines.values(), valueOf).join('\n')),
    [machines],
  );
  return useMemo(() => {
    const split = (text = '', labelOf = (value: string) => labels.get(value) ?? value): readonly Choice[] =>
      text
        .split('\n')
        .filter((value) => value !== '')
        .map((value) => [value, labelOf(value)]);
    const all: readonly (readonly [ChoiceName, readonly Choice[]])[] = [
      ['group', split(groups)],
      ['power', split(states)],
      ['health', split(healths)],
      ['boot', [['any', texts.withOverride], ['none', texts.withoutOverride], ...split(targets, bootTargetText)]],
      [
        'media',
        [
          ['inserted', texts.inserted],
          ['empty', texts.noMedia],
        ],
      ],
      ['host', hosts.map((host) => [host, host])],
    ];
    return all
      .filter(([, options]) => options.length > 0)
      .map(([name, options]) => ({ name, options: [['', texts.any[name]], ...options] }));
  }, [targets, healths, states, groups, hosts]);
}

const VALUES = [powerOf, healthOf, overrideOf, ({ Name }: Machine): string => patternOf(Name)];
const labels = new Map<string, string>([...Object.entries(powers), ['unknown', machinesTexts.unknown]]);

/** The search. The key `/` leads to it, except from dialogs and fields other than check boxes. Escape empties it. */
function SearchField({
  input,
  value,
  onValue,
}: {
  readonly input: RefObject<HTMLInputElement | null>;
  readonly value: string;
  readonly onValue: (value: string) => void;
}) {
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, select, textarea, dialog') !== null;
      const isCheckbox = event.target instanceof HTMLInputElement && event.target.type === 'checkbox';
      if (event.key !== '/' || event.ctrlKey || event.metaKey || (isTyping && !isCheckbox)) return;
      event.preventDefault();
      input.current?.focus();
    };
    addEventListener('keydown', focus);
    return () => removeEventListener('keydown', focus);
  }, []);
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={input}
        class="input"
        type="search"
        aria-label={texts.labels.search}
        aria-keyshortcuts="/"
        placeholder={texts.searchHint}
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && value !== '') onValue('');
        }}
      />
    </div>
  );
}

/** The choice of the columns. */
function ColumnMenu({ absent }: { readonly absent: ReadonlySet<string> }) {
  return (
    <Menu label={texts.columns} class="column-menu" listClass="card stack">
      {() =>
        optionalColumns
          .filter((id) => !absent.has(id))
          .map((id) => (
            <Checkbox
              key={id}
              label={titles[id]}
              isChecked={!hiddenColumns.value.has(id)}
              onChange={(isShown) => showColumn(id, isShown)}
            />
          ))
      }
    </Menu>
  );
}
