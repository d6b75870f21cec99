/** Collections of resources, and the page that shows a collection as a table. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect } from 'preact/hooks';
import { PageHeader } from '../ui/frame/page-header.js';
import { useAnswerOrder } from '../ui/answer-order.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../ui/states.js';
import { compareNames, type Column, type Sorting } from '../ui/table/columns.js';
import { Table } from '../ui/table/table.js';
import { isExpanded, members } from './redfish/client.js';
import { isAtOrBelow } from './redfish/concerns.js';
import { onConnect, onEvents } from './redfish/event-stream.js';
import { pollAttended } from './redfish/poll.js';

/** A member of a collection. */
export interface Member {
  readonly '@odata.id': string;
}

/** The members of a collection in a component. */
interface MembersView<Row> {
  /** null: not read yet. */
  readonly rows: readonly Row[] | null;
  /** The error of the last read; null: none. `rows` then are those of the last successful read. */
  readonly error: unknown;
  /** Reads the members again. */
  readonly reload: () => Promise<void>;
}

/**
 * Events arrive in groups. The collection is read once for all events within this time, in
 * milliseconds.
 */
const COLLECT_MS = 300;

/** Options of {@link useMembers}. */
interface MembersOptions {
  /**
   * Also reads again at this interval while the user attends to the page, in milliseconds, for resources without
   * events.
   */
  readonly pollMs?: number;
  /** A `$filter` of Redfish. */
  readonly filter?: string;
  /**
   * Reads again after events of this resource or of a resource below it, such as the machine of a log.
   * Default: the collection.
   */
  readonly origin?: string;
}

/**
 * Reads a collection with its members. Reads it again when the event stream connects, after events of `origin` or of
 * a resource below it, and at the interval `pollMs`.
 */
export function useMembers<Row extends Member>(
  path: string,
  { pollMs, filter, origin = path }: MembersOptions = {},
): MembersView<Row> {
  const state = useSignal<Omit<MembersView<Row>, 'reload'>>({ rows: null, error: null });
  const order = useAnswerOrder();
  const reload = useCallback(async () => {
    const accept = order.begin();
    let next: Omit<MembersView<Row>, 'reload'>;
    try {
      const rows: Row[] = [];
      for await (const page of members<Row>(path, { filter })) rows.push(...page.filter(isExpanded));
      next = { rows, error: null };
    } catch (error) {
      next = { ...state.peek(), error };
    }
    if (accept()) state.value = next;
  }, [path, filter]);
  useEffect(() => {
    // The path may have changed: ignores answers for the earlier path.
    order.forget();
    void reload();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void reload();
      }, COLLECT_MS);
    };
    const stops = [
      ...(pollMs === undefined ? [] : [pollAttended(reload, pollMs)]),
      onConnect(soon),
      onEvents((events) => {
        const origins = events.flatMap(({ OriginOfCondition: changed }) => changed?.['@odata.id'] ?? []);
        if (origins.some((changed) => isAtOrBelow(changed, origin))) soon();
      }),
    ];
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [reload, pollMs, origin]);
  return { ...state.value, reload };
}

/** Properties of `CollectionPage`. */
interface CollectionPageProps<Row> {
  readonly title: string;
  readonly subtitle?: ComponentChildren;
  /** Buttons in the header. */
  readonly actions?: ComponentChildren;
  readonly columns: readonly Column<Row>[];
  /** The order of the rows at first. */
  readonly sorting: Sorting;
  readonly view: MembersView<Row>;
  /** Selects the rows. Default: all. */
  readonly isShown?: (row: Row) => boolean;
  /** The text that appears if there are no rows. */
  readonly empty: string;
  readonly emptyHint?: string;
  /** Notes above the table, and dialogs. */
  readonly children?: ComponentChildren;
}

/** A page with the members of a collection in a table. */
export function CollectionPage<Row extends Member>(props: CollectionPageProps<Row>) {
  const { title, subtitle, actions, columns, view, isShown = () => true, empty, emptyHint, children } = props;
  const sorting = useSignal(props.sorting);
  const rows = view.rows?.filter(isShown) ?? null;
  return (
    <>
      <PageHeader title={title} subtitle={subtitle} actions={actions} />
      {children}
      {view.error === null ? null : <ErrorState message={messageOf(view.error)} onRetry={() => void view.reload()} />}
      {rows === null ? (
        view.error === null ? (
          <Loading />
        ) : null
      ) : rows.length === 0 ? (
        <EmptyState title={empty}>{emptyHint}</EmptyState>
      ) : (
        <Table
          label={title}
          columns={columns}
          rows={rows}
          keyOf={(row) => row['@odata.id']}
          sorting={sorting.value}
          onSort={(next) => {
            sorting.value = next;
          }}
        />
      )}
    </>
  );
}

/** Returns a function that compares two rows by a text, in natural order. An absent text comes first. */
export const byText =
  <Row,>(textOf: (row: Row) => string | null | undefined) =>
  (a: Row, b: Row): number =>
    compareNames(textOf(a) ?? '', textOf(b) ?? '');
