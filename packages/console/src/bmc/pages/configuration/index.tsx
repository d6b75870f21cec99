/** The effective settings of the service: value, default and source of each. */
import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Button } from '../../../ui/button.js';
import { Checkbox, TextField } from '../../../ui/field.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { useAnswerOrder } from '../../../ui/answer-order.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../../../ui/states.js';
import type { Column, Sorting } from '../../../ui/table/columns.js';
import { Table } from '../../../ui/table/table.js';
import { byText } from '../../collection.js';
import { RedfishFailure } from '../../redfish/wire.js';
import { configurationTexts as texts } from '../../../texts/index.js';
import { searchSettings, type Setting } from './setting.js';
import { readSettings } from './settings.js';
import { SettingValue, textOf } from './setting-value.js';

/** The page Configuration. */
export default function ConfigurationPage() {
  const settings = useSignal<readonly Setting[] | null>(null);
  const error = useSignal<unknown>(null);
  const order = useAnswerOrder();
  const read = useCallback(async () => {
    const accept = order.begin();
    try {
      const all = await readSettings();
      if (!accept()) return;
      settings.value = all;
      error.value = null;
    } catch (thrown) {
      if (accept()) error.value = thrown;
    }
  }, []);
  useEffect(() => void read(), [read]);
  const isAbsent = error.value instanceof RedfishFailure && error.value.status === 404;
  return (
    <>
      <PageHeader
        title={texts.title}
        subtitle={texts.hint}
        actions={<Button onClick={() => void read()}>{texts.read}</Button>}
      />
      {isAbsent ? (
        <EmptyState title={texts.absent}>{texts.absentHint}</EmptyState>
      ) : error.value !== null ? (
        <ErrorState message={messageOf(error.value)} onRetry={() => void read()} />
      ) : settings.value === null ? (
        <Loading />
      ) : (
        <Settings all={settings.value} />
      )}
    </>
  );
}

function Settings({ all }: { readonly all: readonly Setting[] }) {
  const search = useSignal('');
  const isNonDefaultOnly = useSignal(false);
  const sorting = useSignal<Sorting | undefined>(undefined);
  const rows = searchSettings(all, search.value).filter(({ source }) => source !== null || !isNonDefaultOnly.value);
  return (
    <div class="stack">
      <div class="row" role="search">
        <TextField
          type="search"
          label={texts.search}
          placeholder={texts.searchHint}
          value={search.value}
          onValue={(value) => (search.value = value)}
        />
        <Checkbox
          label={texts.changedOnly}
          isChecked={isNonDefaultOnly.value}
          onChange={(isChecked) => (isNonDefaultOnly.value = isChecked)}
        />
        <span class="quiet" role="status">
          {texts.shown(rows.length, all.length)}
        </span>
      </div>
      {rows.length === 0 ? (
        <EmptyState title={texts.noMatch} />
      ) : (
        <Table
          label={texts.table}
          columns={columns}
          rows={rows}
          keyOf={({ name }) => name}
          sorting={sorting.value}
          onSort={(next) => (sorting.value = next)}
        />
      )}
    </div>
  );
}

const columns: readonly Column<Setting>[] = [
  {
    ...{ id: 'name', title: texts.columns.name, isRowHeader: true, class: 'setting-name' },
    render: ({ name, help }) => (
      <>
        <code>{name}</code>
        <small>{help}</small>
      </>
    ),
    compare: byText(({ name }) => name),
  },
  {
    ...{ id: 'value', title: texts.columns.value, class: 'setting-value' },
    render: ({ name, value, source }) => (
      <>
        <SettingValue name={name} value={textOf(value)} />
        {source === null ? null : <small>{source}</small>}
      </>
    ),
    compare: byText(({ value }) => textOf(value)),
  },
  {
    ...{ id: 'default', title: texts.columns.default, class: 'setting-value wide' },
    render: (setting) =>
      setting.source === null ? (
        <span class="quiet">=</span>
      ) : (
        <SettingValue name={setting.name} value={textOf(setting.default)} />
      ),
  },
  {
    ...{ id: 'source', title: texts.columns.source, class: 'setting-source wide' },
    render: ({ source }) => (source === null ? <span class="quiet">{texts.isDefault}</span> : <code>{source}</code>),
    compare: byText(({ source }) => source),
  },
  {
    ...{ id: 'change', title: texts.columns.change, class: 'setting-change wide' },
    render: ({ needsRestart }) => (needsRestart ? texts.restart : texts.reload),
    compare: byText(({ needsRestart }) => (needsRestart ? texts.restart : texts.reload)),
  },
];
